#pragma once
#include <string>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// Where values are infinite or NaN, in words: the first such parameter; else, while there is a
/// batch, its inputs or the first layer whose output is so; else the first such running statistic.
/// Empty if all values are finite. While there is a batch, runs the model once more on it, and
/// leaves the running statistics as they were before it. Waits for the device.
[[nodiscard]] std::string first_non_finite(Learner& learn);

}  // namespace learn::callbacks
