#pragma once
#include <string>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// Describes where values are infinite or NaN: the first such parameter; else, during a batch, its
/// inputs or the first layer with such an output; else the first such running statistic. Returns an
/// empty text if all are finite. During a batch it runs the model once more on that batch and
/// restores the running statistics. Waits for the device.
[[nodiscard]] std::string first_non_finite(Learner& learn);

}  // namespace learn::callbacks
