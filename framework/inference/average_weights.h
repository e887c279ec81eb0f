#pragma once
#include <filesystem>
#include <span>

namespace learn {

/// Writes the mean of the weights of checkpoints, computed in f64, as a file of weights; it
/// averages parameters and BatchNorm's running statistics. All must be of one model, with the same
/// classes, image size and normalization; the rest of the metadata is the last file's, and
/// "learn.averaged" names the files by line. Throws UsageError for less than two; CheckpointError,
/// which names the file and both values, for one that is of another model; IoError.
void average_weights(std::span<const std::filesystem::path> files,
                     const std::filesystem::path& out);

}  // namespace learn
