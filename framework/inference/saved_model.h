#pragma once
#include "data/dataset.h"
#include "data/normalization.h"
#include "framework/io/safetensors.h"
#include "framework/nn/model.h"

#include <string>
#include <vector>

namespace learn {

/// What a checkpoint says of its model, so that it can be used without what it was trained with.
struct SavedModel {
  std::string model;                 ///< whole, as the registry takes it: "resnet9:width=16"
  std::vector<std::string> classes;  ///< their names
  data::ImageSize input;             ///< of the images, which have three colours
  data::Normalization normalization;

  /// The model, without memory. Throws UsageError for a model that is not in the registry.
  [[nodiscard]] nn::Model make() const;
};

/// Reads it from the metadata of a checkpoint. Throws CheckpointError for one that was not written
/// for an experiment, or says what cannot be.
[[nodiscard]] SavedModel saved_model(const SafetensorsFile& file);
/// Adds it to the metadata of a checkpoint.
void describe_model(const SavedModel& model, Metadata& metadata);

/// What the metadata say under `key`. Throws CheckpointError for a checkpoint that was not written
/// for an experiment.
[[nodiscard]] const std::string& saved_value(const SafetensorsFile& file, const std::string& key);

/// Mean and standard deviation as six numbers, and back. Throws CheckpointError.
[[nodiscard]] std::string to_text(const data::Normalization& normalization);
[[nodiscard]] data::Normalization normalization_from(const std::string& text);
/// The height and width of "32 32 3", the shape of a sample. Throws CheckpointError.
[[nodiscard]] data::ImageSize image_size_from(const std::string& input);

}  // namespace learn
