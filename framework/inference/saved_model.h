#pragma once
#include "data/dataset.h"
#include "data/loading/normalization.h"
#include "framework/io/safetensors.h"
#include "framework/nn/model.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// A checkpoint's description of its model, sufficient to use it without its training.
struct SavedModel {
  std::string model;                 ///< whole, as the registry takes it: "resnet9:width=16"
  std::vector<std::string> classes;  ///< their names
  data::ImageSize input;             ///< of the images; 0 x 0: it takes features
  data::Normalization normalization;
  std::filesystem::path file{};  ///< the file that contains it; empty: none
  data::TargetKind target_kind = data::TargetKind::classes;
  std::int64_t channels = 3;  ///< of the images, or the number of features
  /// Names of the features, if they have any.
  std::vector<std::string> features = {};

  /// (H,W,C), or (C) of features.
  [[nodiscard]] Shape input_shape() const;
  /// Throws UsageError, where `who` has a meaning for such targets alone, unless it was trained on
  /// them.
  void require(TargetKind targets, std::string_view who) const;

  /// Returns the model, without memory. If it cannot be created, throws CheckpointError that names
  /// the file, or UsageError without a file.
  [[nodiscard]] nn::Model make() const;
};

/// Reads it from the metadata of a checkpoint. Throws CheckpointError for one that was not written
/// for an experiment, or has impossible values; `make` checks whether the model can be created.
[[nodiscard]] SavedModel saved_model(const SafetensorsFile& file);
/// Adds it to the metadata of a checkpoint.
void describe_model(const SavedModel& model, Metadata& metadata);

/// The name of the targets in metadata: "classes", "labels", "values".
[[nodiscard]] std::string metadata_name(TargetKind targets);

/// The metadata under `key`. Throws CheckpointError for a checkpoint that was not written for an
/// experiment.
[[nodiscard]] const std::string& saved_value(const SafetensorsFile& file, const std::string& key);

/// Means and standard deviations, one number after the other.
[[nodiscard]] std::string to_text(const data::Normalization& normalization);

}  // namespace learn
