#pragma once
#include <string>

namespace learn {
class Learner;
}

namespace learn::cli {

/// How a fit ended that did not throw.
struct Ending {
  std::string status;  ///< finished, interrupted, diverged: see RunRecord
  std::string error;   ///< why it did not finish; empty if it did
  int exit_code = 0;
};

/// Outcome of the fit that `learn` has just made: a signal may have ended it, or a loss that is not
/// finite.
[[nodiscard]] Ending ending_of(const Learner& learn);

}  // namespace learn::cli
