#pragma once
#include "framework/core/dtype.h"

#include <string>

namespace learn {

class Learner;

/// Looks at weights that were loaded from `from`, before a training in `half` begins to round them
/// (`nn::scan_range`). Throws UsageError if finite values would become infinite, which names the
/// parameters, the worst first, and what helps. Warns of parameters that lose a tenth of their
/// values to zero, and of variances that are negative. Otherwise it is one line in the log.
void check_range(Learner& learn, DType half, const std::string& from);

}  // namespace learn
