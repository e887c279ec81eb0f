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

/// The values of a training for TensorBoard; the callback documents their names.
namespace learn::callbacks {

[[nodiscard]] std::vector<tensorboard::Value> values_of(const BatchRecord& batch);
[[nodiscard]] std::vector<tensorboard::Value> values_of(const EpochRecord& epoch, bool validated);

/// Histograms of all parameters, and how many values are not finite. A parameter without a finite
/// value has no histogram. Wait for the device.
[[nodiscard]] std::vector<tensorboard::Value> weight_histograms(Learner& learn);
/// The same for the gradients of trained parameters.
[[nodiscard]] std::vector<tensorboard::Value> gradient_histograms(Learner& learn);

[[nodiscard]] tensorboard::PngImage encoded(const plot::ImageGrid& grid);

/// The text as it is, in Markdown.
[[nodiscard]] std::string code_block(const std::string& text);

}  // namespace learn::callbacks
