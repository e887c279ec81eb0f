#pragma once
#include "framework/inference/saved_model.h"

#include <filesystem>

/// Trained models for the tests, as a run leaves them.
namespace learn::test {

/// Three classes of images of 8 x 12 pixels.
[[nodiscard]] SavedModel small_description(const std::string& model = "small:width=4");

/// Writes the initial weights of the model, times `factor`.
void write_trained(const std::filesystem::path& file,
                   const SavedModel& description = small_description(),
                   float factor = 1);

}  // namespace learn::test
