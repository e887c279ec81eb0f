#include "framework/export/import_pytorch.h"

#include "framework/core/error.h"
#include "framework/export/passes.h"
#include "framework/export/trace.h"
#include "framework/io/not_finite.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/host_tensor.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace learn::exported {
namespace {

/// (K,R,S,C) as PyTorch orders it.
Shape their_shape(const Shape& s) { return s.rank() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s; }

/// Parameters and buffers of a model by their names.
std::map<std::string, Tensor> places_of(nn::ParamStore& store) {
  std::map<std::string, Tensor> places;
  for (std::int64_t i = 0; i < store.size(); ++i) places[store.info(i).name] = store.master(i);
  for (std::int64_t i = 0; i < store.buffer_count(); ++i)
    places[store.buffer(i).name] = store.buffer(i).value;
  return places;
}

/// The tensors of a file by our names.
std::map<std::string, const TensorEntry*> renamed(const SafetensorsFile& file,
                                                  const NameMap& names) {
  std::map<std::string, const TensorEntry*> all;
  for (const auto& [theirs, entry] : file.tensors()) {
    const std::optional<std::string> ours = names(theirs);
    if (!ours || ours->ends_with("num_batches_tracked")) continue;
    const auto [place, is_new] = all.emplace(*ours, &entry);
    if (!is_new)
      fail<CheckpointError>("'{}': both '{}' and '{}' would be '{}' here",
                            file.path().string(),
                            place->second->name,
                            theirs,
                            *ours);
  }
  return all;
}

Weight read_weight(const SafetensorsFile& file,
                   const TensorEntry& entry,
                   detail::NotFinite& not_finite) {
  std::vector<std::byte> bytes(entry.end - entry.begin);
  file.read(entry, bytes);
  not_finite.look_at(entry.name, entry.dtype, bytes);
  Weight weight{entry.shape, std::vector<float>(static_cast<std::size_t>(entry.shape.elements()))};
  visit_floating(entry.dtype, [&]<class T>() {
    const auto* const from = reinterpret_cast<const T*>(bytes.data());
    for (std::size_t i = 0; i < weight.values.size(); ++i) weight.values[i] = as_float(from[i]);
  });
  return weight;
}

/// From (K,C,R,S) to (K,R,S,C), if it is of rank 4.
std::vector<float> channels_last(const Weight& weight) {
  if (weight.shape.rank() != 4) return weight.values;
  const auto channels = static_cast<std::size_t>(weight.shape[1]);
  const auto taps = static_cast<std::size_t>(weight.shape[2] * weight.shape[3]);
  std::vector<float> out(weight.values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / channels / taps;
    out[i] = weight.values[(row * channels + i % channels) * taps + i / channels % taps];
  }
  return out;
}

/// The images that linear layers flatten, by the names of their weights.
std::map<std::string, Shape> flattened_images(nn::Module& model,
                                              nn::ParamStore& store,
                                              const Shape& sample) {
  std::map<std::string, Shape> images;
  Graph graph = trace(model, store, sample);
  for (const auto& [name, image] : flatten_channels_first(graph)) {
    images[name] = image;
    images[name + "_v"] = image;  // weight norm's; its lengths are those of whole rows
  }
  return images;
}

}  // namespace

WeightsReport import_pytorch(const std::filesystem::path& path,
                             nn::Module& model,
                             nn::ParamStore& store,
                             const Shape& sample,
                             const NameMap& names,
                             WeightsMatch match) {
  const SafetensorsFile file(path);
  const std::map<std::string, const TensorEntry*> theirs = renamed(file, names);
  std::map<std::string, Tensor> places = places_of(store);
  WeightsReport report;
  for (const auto& [name, entry] : theirs)
    if (!places.contains(name)) report.unexpected.push_back(name);
  for (auto place = places.begin(); place != places.end();) {
    const auto& [name, tensor] = *place;
    const auto found = theirs.find(name);
    const Shape wanted = their_shape(tensor.shape());
    bool fits = false;
    if (found == theirs.end())
      report.missing.push_back(name);
    else if (const TensorEntry& entry = *found->second;
             entry.shape != wanted || !is_floating(entry.dtype))
      report.mismatched.push_back(
          fmt::format("{} is {} {}, here {}", name, entry.dtype, entry.shape, wanted));
    else
      fits = true;
    place = fits ? std::next(place) : places.erase(place);
  }
  report.loaded = static_cast<std::int64_t>(places.size());
  if (match == WeightsMatch::strict && !report.clean())
    fail<CheckpointError>("'{}' does not fit the model:{}", path.string(), report.describe());
  if (places.empty())
    fail<CheckpointError>("nothing in '{}' fits the model:{}", path.string(), report.describe());
  const std::map<std::string, Shape> images = flattened_images(model, store, sample);
  detail::NotFinite not_finite;
  for (auto& [name, tensor] : places) {
    Weight weight = read_weight(file, *theirs.at(name), not_finite);
    if (const auto image = images.find(name); image != images.end())
      turn_columns(weight, image->second, true);
    const std::vector<float> values = channels_last(weight);
    Context& ctx = store.context();
    copy(ctx, to_device(ctx, ctx.step(), host_tensor<float>(tensor.shape(), values)), tensor);
  }
  not_finite.warn(path);
  store.refresh_working();
  store.commit_buffers();
  return report;
}

}  // namespace learn::exported
