#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/io/checkpoint.h"
#include "framework/io/read_weights.h"
#include "framework/nn/dry_pass.h"
#include "framework/nn/model.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/factory.h"

#include <string_view>

namespace learn {
namespace {

constexpr std::string_view kBatches = "num_batches_tracked";

/// The tensors of a model: all of a file of weights, and in the state of a training those that
/// `Learner::visit_state` wrote for it.
detail::NamedEntries entries_of(const SafetensorsFile& file, bool training) {
  detail::NamedEntries entries;
  for (const auto& [name, entry] : file.tensors()) {
    if (!training) entries.emplace(name, &entry);
    for (const std::string_view prefix : {"model.params.", "model.buffers."})
      if (training && name.starts_with(prefix)) entries.emplace(name.substr(prefix.size()), &entry);
  }
  return entries;
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

WeightsReport load(const SafetensorsFile& file,
                   nn::ParamStore& store,
                   detail::ReadWeights options) {
  const auto kind = file.metadata().find("learn.kind");
  const auto is = [&](std::string_view one) {
    return kind != file.metadata().end() && kind->second == one;
  };
  if (is("pytorch"))
    fail<CheckpointError>(
        "'{}' was exported for PyTorch, whose layouts differ from a checkpoint's; 'learn import' "
        "reads it",
        file.path().string());
  const bool training = is("train");
  options.pytorch = !training;
  return detail::read_weights(file, entries_of(file, training), store, options);
}

}  // namespace

std::string WeightsReport::describe() const {
  return join("missing in the file", missing) + join("not in the model", unexpected) +
         join("different shapes", mismatched);
}

void save_weights(const std::filesystem::path& path, nn::ParamStore& store, Metadata metadata) {
  Arena arena("weights export", cpu_pages());
  std::vector<NamedTensor> tensors;
  for (const detail::Place& place : detail::places_of(store)) {
    const Tensor ours_on_host = to_host(store.context(), place.tensor);
    Tensor copy(arena, detail::file_shape(place.tensor.shape()), DType::f32);
    const std::span<float> to = copy.span<float>();
    visit_floating(ours_on_host.dtype(), [&]<class T>() {
      const std::span<const T> from = ours_on_host.span<T>();
      detail::for_each_element(ours_on_host.shape(), [&](std::int64_t ours, std::int64_t theirs) {
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
  return load(SafetensorsFile(path), store, {.match = match});
}

WeightsReport load_weights(const std::filesystem::path& path,
                           const nn::Model& model,
                           const std::vector<std::string>& classes,
                           WeightsMatch match) {
  const SafetensorsFile file(path);
  return load(file,
              *model.params,
              {.match = match,
               .classes = {detail::class_names(file), classes},
               .class_tensors = nn::output_parameters(*model.module, *model.params, model.input)});
}

}  // namespace learn
