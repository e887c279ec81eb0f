#include "framework/export/import_pytorch.h"

#include "framework/core/error.h"
#include "framework/export/passes.h"
#include "framework/export/trace.h"
#include "framework/io/read_weights.h"
#include "framework/nn/dry_pass.h"
#include "framework/nn/param_store.h"

#include <map>
#include <optional>
#include <utility>

namespace learn::exported {
namespace {

/// Returns the tensors of a file by their mapped names.
detail::NamedEntries renamed(const SafetensorsFile& file, const NameMap& names) {
  detail::NamedEntries all;
  for (const auto& [theirs, entry] : file.tensors()) {
    const std::optional<std::string> ours = names(theirs);
    if (!ours || ours->ends_with("num_batches_tracked")) continue;
    const auto [place, is_new] = all.emplace(*ours, &entry);
    if (!is_new)
      fail<CheckpointError>("'{}': both '{}' and '{}' would be renamed to '{}'",
                            file.path().string(),
                            place->second->name,
                            theirs,
                            *ours);
  }
  return all;
}

/// Returns the images that linear layers flatten, by the names of their weights.
std::map<std::string, Shape> flattened_images(nn::Module& model,
                                              nn::ParamStore& store,
                                              const Shape& sample) {
  std::map<std::string, Shape> images;
  Graph graph = trace(model, store, sample);
  for (const auto& [name, image] : flatten_channels_first(graph)) {
    images[name] = image;
    images[name + "_v"] = image;  // for weight norm, whose lengths belong to whole rows
  }
  return images;
}

}  // namespace

WeightsReport import_pytorch(const std::filesystem::path& path,
                             nn::Module& model,
                             nn::ParamStore& store,
                             const Shape& sample,
                             const NameMap& names,
                             WeightsMatch match,
                             const std::vector<std::string>& classes) {
  const SafetensorsFile file(path);
  const std::map<std::string, Shape> images = flattened_images(model, store, sample);
  const auto turn = [&](const std::string& name, detail::FileValues& read) {
    const auto image = images.find(name);
    if (image == images.end()) return;
    Weight weight{read.shape, {}};
    for (const double value : read.values) weight.values.push_back(static_cast<float>(value));
    turn_columns(weight, image->second, true);
    read.values.assign(weight.values.begin(), weight.values.end());
  };
  return detail::read_weights(file,
                              renamed(file, names),
                              store,
                              {.match = match,
                               .classes = {detail::class_names(file), classes},
                               .class_tensors = nn::output_parameters(model, store, sample),
                               .refuse_bad_values = true,
                               .adjust = turn});
}

}  // namespace learn::exported
