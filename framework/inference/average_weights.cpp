#include "framework/inference/average_weights.h"

#include "framework/core/error.h"
#include "framework/inference/load_model.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/param_store.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace learn {
namespace {

/// Everything of a model that is averaged.
std::vector<Tensor> values_of(nn::ParamStore& store) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < store.size(); ++i) all.push_back(store.master(i));
  for (std::int64_t i = 0; i < store.buffer_count(); ++i) all.push_back(store.buffer(i).value);
  return all;
}

/// A class's name holds no line break; a message should not either.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ',');
  return text;
}

/// Targets that are classes and features without names are not in the file.
std::string value_of(const SafetensorsFile& file, const std::string& key) {
  if (file.metadata().contains(key)) return saved_value(file, key);
  if (key == "learn.features") return "";
  return key == "learn.targets" ? metadata_name(TargetKind::classes) : saved_value(file, key);
}

void check_same_model(const SafetensorsFile& file, const SafetensorsFile& first) {
  for (const char* key : {"learn.model",
                          "learn.targets",
                          "learn.classes",
                          "learn.input",
                          "learn.features",
                          "learn.normalization"}) {
    const std::string here = value_of(file, key);
    const std::string there = value_of(first, key);
    if (here != there)
      fail<CheckpointError>(
          "'{}' and '{}' cannot be averaged: '{}' is '{}' in the one and '{}' in "
          "the other",
          first.path().string(),
          file.path().string(),
          key,
          in_one_line(there),
          in_one_line(here));
  }
}

/// The last file's metadata of its experiment, without those of the file itself.
Metadata metadata_of(const SafetensorsFile& file, std::span<const std::filesystem::path> files) {
  Metadata metadata;
  for (const auto& [key, value] : file.metadata())
    if (key.starts_with("learn.") && key != kHash && key != kFormat && key != kPayloadHash)
      metadata[key] = value;
  std::string names;
  for (const std::filesystem::path& path : files)
    names += (names.empty() ? "" : "\n") + path.string();
  metadata["learn.averaged"] = names;
  return metadata;
}

}  // namespace

void average_weights(std::span<const std::filesystem::path> files,
                     const std::filesystem::path& out) {
  if (files.size() < 2)
    fail<UsageError>("an average is of two checkpoints or more, not of {}", files.size());
  const SafetensorsFile first(files.front());
  for (const std::filesystem::path& path : files.subspan(1))
    check_same_model(SafetensorsFile(path), first);
  LoadedModel loaded = load_model(files.front(), {.device = Device::cpu()});
  std::vector<Tensor> values = values_of(*loaded.model.params);
  std::vector<std::vector<double>> sums(values.size());
  const auto add = [&] {
    for (std::size_t t = 0; t < values.size(); ++t) {
      const auto from = values[t].span<float>();
      sums[t].resize(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) sums[t][i] += static_cast<double>(from[i]);
    }
  };
  add();
  for (const std::filesystem::path& path : files.subspan(1)) {
    load_weights(path, *loaded.model.params);
    add();
  }
  const auto count = static_cast<double>(files.size());
  for (std::size_t t = 0; t < values.size(); ++t)
    std::ranges::transform(sums[t], values[t].span<float>().begin(), [&](double sum) {
      return static_cast<float>(sum / count);
    });
  save_weights(out, *loaded.model.params, metadata_of(SafetensorsFile(files.back()), files));
}

}  // namespace learn
