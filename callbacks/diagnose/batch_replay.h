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
  /// The number of the batch to what is random in it: `FitProgress::batch_clock` before it.
  std::int64_t batch = 0;
  /// The backward pass, too.
  bool backward = true;
  /// The seed of the backward pass: one element on the device, or else a loss scale.
  Tensor seed;
  float loss_scale = 1;
};

/// Values in a second run of a batch. Infinite and NaN values are described in words; a text is
/// empty if all values are finite.
struct Replay {
  /// The largest magnitude of those that are finite, and what has it.
  struct Largest {
    double value = 0;
    std::string where;
  };

  bool inputs_finite = true;
  std::string first_output;  ///< of the modules, in the order of the forward pass
  Largest output;
  double loss = std::numeric_limits<double>::quiet_NaN();

  /// The first non-finite gradient of a module output or parameter, in backward order; all
  /// gradients include the loss scale.
  std::string first_gradient;
  std::vector<std::string> parameters;  ///< all whose gradients are not finite, in that order
  Largest gradient;                     ///< of the modules and parameters
};

/// A place of a Replay as the subject of a sentence: with the comma that closes its description.
[[nodiscard]] std::string as_subject(const std::string& place);

/// Runs the model once more on the batch that is at hand, as it ran in training, with the faults
/// that were injected inside of it, and looks at each value. Leaves no trace: gradients, running
/// statistics and all else are what they were. Predictions that are half become f32 before the
/// loss; what callbacks did beside that to prediction and loss it does not repeat. Waits for the
/// device, and copies all it looks at to the host. Throws OutOfMemoryError if that does not fit.
[[nodiscard]] Replay replay_batch(Learner& learn, const ReplayOptions& options);

/// The trained parameters whose f32 gradients, as they are now, are not finite. Waits.
[[nodiscard]] std::vector<std::string> parameters_with_bad_gradients(Learner& learn);

}  // namespace learn::callbacks
