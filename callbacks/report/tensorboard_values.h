#pragma once
#include "framework/drawing/image_grid.h"
#include "framework/learner/history/batch_history.h"
#include "framework/learner/history/epoch_history.h"
#include "framework/tensorboard/event_file.h"

#include <string>
#include <vector>

namespace learn {
class Learner;
}

/// Writers of a training's values for TensorBoard; the callback lists their names.
namespace learn::callbacks {

[[nodiscard]] std::vector<tensorboard::Value> values_of(const BatchRecord& batch);
[[nodiscard]] std::vector<tensorboard::Value> values_of(const EpochRecord& epoch, bool validated);

/// Writes histograms of all parameters, and counts of non-finite values. A parameter without a
/// finite value has no histogram. Waits for the device.
[[nodiscard]] std::vector<tensorboard::Value> weight_histograms(Learner& learn);
/// Writes histograms and counts for the gradients of the trained parameters.
[[nodiscard]] std::vector<tensorboard::Value> gradient_histograms(Learner& learn);

[[nodiscard]] tensorboard::PngImage encoded(const plot::ImageGrid& grid);

/// Writes the text verbatim, in Markdown.
[[nodiscard]] std::string code_block(const std::string& text);

}  // namespace learn::callbacks
