#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace learn {
class Learner;
}

namespace learn::callbacks {

struct ReplayOptions {
  /// Batch number that determines its random values: `FitProgress::batch_clock` before the batch.
  std::int64_t batch = 0;
  /// Whether to run the backward pass, too.
  bool backward = true;
  /// Seed of the backward pass: one element on the device, or else a loss scale.
  Tensor seed;
  float loss_scale = 1;
};

/// The values found when a batch is run again. Infinite and NaN values are described in words; a
/// text is empty where everything is finite.
struct Replay {
  /// The largest finite magnitude and its location.
  struct Largest {
    double value = 0;
    std::string where;
  };

  bool inputs_finite = true;
  std::string first_output;  ///< of a module, in forward order
  Largest output;
  double loss = std::numeric_limits<double>::quiet_NaN();

  /// The first non-finite gradient (of a module output or a parameter) in backward order; all
  /// gradients include the loss scale.
  std::string first_gradient;
  std::vector<std::string> parameters;  ///< all with non-finite gradients, in backward order
  Largest gradient;                     ///< over modules and parameters
};

/// Returns a location of a Replay as the subject of a sentence, with the comma that closes its
/// description.
[[nodiscard]] std::string as_subject(const std::string& place);

/// Runs the model once more on the current batch, as in training and with the faults injected
/// inside it, and inspects each value. Leaves no trace: gradients, running statistics and all other
/// state are restored. Half predictions are cast to f32 before the loss; other changes that
/// callbacks made to the prediction and the loss are not repeated. Waits for the device, and copies
/// everything it inspects to the host. Throws OutOfMemoryError if that does not fit.
[[nodiscard]] Replay replay_batch(Learner& learn, const ReplayOptions& options);

/// Returns the trained parameters whose current f32 gradients are not finite. Waits for the device.
[[nodiscard]] std::vector<std::string> parameters_with_bad_gradients(Learner& learn);

}  // namespace learn::callbacks
