#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/io/checkpoint.h"
#include "framework/io/not_finite.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/factory.h"

#include <set>

namespace learn {
namespace {

constexpr std::string_view kBatches = "num_batches_tracked";

/// (K,R,S,C) as PyTorch orders it; other ranks are the same in both worlds.
Shape file_shape(const Shape& s) { return s.rank() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s; }

/// Calls `f(ours, file)` for each element: its index in our layout and in the file's.
template <class F>
void for_each_element(const Shape& s, F&& f) {
  if (s.rank() != 4) {
    for (std::int64_t i = 0; i < s.elements(); ++i) f(i, i);
    return;
  }
  const std::int64_t taps = s[1] * s[2];
  std::int64_t i = 0;
  for (std::int64_t k = 0; k < s[0]; ++k)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t c = 0; c < s[3]; ++c) f(i++, (k * s[3] + c) * taps + tap);
}

/// PyTorch's parametrizations.weight_norm has other names than weight_norm and reads both; so do
/// we.
std::string parametrized(const std::string& name) {
  for (const auto& [old_name, new_name] :
       {std::pair("weight_g", "original0"), std::pair("weight_v", "original1")})
    if (name.ends_with(old_name))
      return name.substr(0, name.size() - std::string_view(old_name).size()) +
             "parametrizations.weight." + new_name;
  return name;
}

/// A parameter or buffer by its name in the file.
struct Place {
  std::string name;
  Tensor tensor;
};

/// How a kind of file names tensors and lays them out.
struct Convention {
  std::string params;   ///< before the names of parameters
  std::string buffers;  ///< before the names of buffers
  bool pytorch = true;  ///< OIHW
};
const Convention kWeights{};
/// As `Learner::visit_state` writes a whole training; its other tensors do not concern a model.
const Convention kTraining{"model.params.", "model.buffers.", false};

std::vector<Place> places_of(nn::ParamStore& store, const Convention& convention) {
  std::vector<Place> places;
  for (std::int64_t i = 0; i < store.size(); ++i)
    places.push_back({convention.params + store.info(i).name, store.master(i)});
  for (std::int64_t i = 0; i < store.buffer_count(); ++i)
    places.push_back({convention.buffers + store.buffer(i).name, store.buffer(i).value});
  return places;
}

void read_into(Context& ctx,
               const SafetensorsFile& file,
               const TensorEntry& entry,
               const Convention& convention,
               Tensor& destination,
               detail::NotFinite& not_finite) {
  Tensor tensor = destination.device().is_cpu() ? destination : to_host(ctx, destination);
  std::vector<std::byte> bytes(entry.end - entry.begin);
  file.read(entry, bytes);
  not_finite.look_at(entry.name, entry.dtype, bytes);
  const Shape& shape = tensor.shape();
  const Shape order = convention.pytorch ? shape : Shape{shape.elements()};
  visit_floating(entry.dtype, [&]<class From>() {
    const auto* from = reinterpret_cast<const From*>(bytes.data());
    visit_floating(tensor.dtype(), [&]<class To>() {
      const std::span<To> to = tensor.span<To>();
      for_each_element(order, [&](std::int64_t ours, std::int64_t theirs) {
        to[static_cast<std::size_t>(ours)] = from_double<To>(as_double(from[theirs]));
      });
    });
  });
  if (!destination.device().is_cpu()) copy(ctx, to_device(ctx, ctx.step(), tensor), destination);
}

/// Compares names and shapes; `matches` gets what can be loaded.
WeightsReport compare(const SafetensorsFile& file,
                      const std::vector<Place>& places,
                      const Convention& convention,
                      std::vector<std::pair<const TensorEntry*, Tensor>>& matches) {
  WeightsReport report;
  std::set<std::string_view> known;
  for (const Place& place : places) {
    auto found = file.tensors().find(place.name);
    if (found == file.tensors().end()) found = file.tensors().find(parametrized(place.name));
    if (found != file.tensors().end()) known.insert(found->first);
    if (found == file.tensors().end()) {
      report.missing.push_back(place.name);
      continue;
    }
    const TensorEntry& entry = found->second;
    const Shape& own = place.tensor.shape();
    const Shape wanted = convention.pytorch ? file_shape(own) : own;
    if (entry.shape == wanted && is_floating(entry.dtype))
      matches.emplace_back(&entry, place.tensor);
    else
      report.mismatched.push_back(
          fmt::format("{} is {} {}, here {}", place.name, entry.dtype, entry.shape, wanted));
  }
  for (const auto& [name, entry] : file.tensors())
    if ((name.starts_with(convention.params) || name.starts_with(convention.buffers)) &&
        !known.contains(name) && !name.ends_with(kBatches))
      report.unexpected.push_back(name);
  report.loaded = static_cast<std::int64_t>(matches.size());
  return report;
}

std::string join(std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  constexpr std::size_t kShown = 10;
  std::string text = fmt::format("\n  {} ({}):", title, names.size());
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += " " + names[i] + ",";
  if (names.size() > kShown) return text + " ...";
  text.pop_back();
  return text;
}

}  // namespace

std::string WeightsReport::describe() const {
  return join("missing in the file", missing) + join("not in the model", unexpected) +
         join("different shapes", mismatched);
}

void save_weights(const std::filesystem::path& path, nn::ParamStore& store, Metadata metadata) {
  Arena arena("weights export", cpu_pages());
  std::vector<NamedTensor> tensors;
  for (const Place& place : places_of(store, kWeights)) {
    const Tensor ours_on_host = to_host(store.context(), place.tensor);
    Tensor copy(arena, file_shape(place.tensor.shape()), DType::f32);
    const std::span<float> to = copy.span<float>();
    visit_floating(ours_on_host.dtype(), [&]<class T>() {
      const std::span<const T> from = ours_on_host.span<T>();
      for_each_element(ours_on_host.shape(), [&](std::int64_t ours, std::int64_t theirs) {
        to[static_cast<std::size_t>(theirs)] = as_float(from[static_cast<std::size_t>(ours)]);
      });
    });
    tensors.push_back({place.name, copy});
    constexpr std::string_view kVariance = "running_var";
    if (place.name.ends_with(kVariance))
      tensors.push_back(
          {place.name.substr(0, place.name.size() - kVariance.size()) + std::string(kBatches),
           zeros(arena, {}, DType::i64)});
  }
  metadata["format"] = "pt";
  metadata["learn.kind"] = "weights";
  write_safetensors(path, tensors, std::move(metadata));
}

WeightsReport load_weights(const std::filesystem::path& path,
                           nn::ParamStore& store,
                           WeightsMatch match) {
  const SafetensorsFile file(path);
  const auto kind = file.metadata().find("learn.kind");
  const auto is = [&](std::string_view one) {
    return kind != file.metadata().end() && kind->second == one;
  };
  if (is("pytorch"))
    fail<CheckpointError>(
        "'{}' was exported for PyTorch, with other layouts than a checkpoint; 'learn import' reads "
        "it",
        path.string());
  const bool training = is("train");
  const Convention& convention = training ? kTraining : kWeights;
  std::vector<std::pair<const TensorEntry*, Tensor>> matches;
  WeightsReport report = compare(file, places_of(store, convention), convention, matches);
  if (match == WeightsMatch::strict && !report.clean())
    fail<CheckpointError>("'{}' does not fit the model:{}", path.string(), report.describe());
  if (matches.empty())
    fail<CheckpointError>("nothing in '{}' fits the model:{}", path.string(), report.describe());
  detail::NotFinite not_finite;
  for (auto& [entry, tensor] : matches)
    read_into(store.context(), file, *entry, convention, tensor, not_finite);
  not_finite.warn(path);
  store.refresh_working();
  store.commit_buffers();
  return report;
}

}  // namespace learn
