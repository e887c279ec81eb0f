#pragma once
#include <string>

namespace learn {

class Learner;
struct PrecisionSection;

/// Looks at weights that were loaded from `from`, before a training in the half of `precision`
/// begins to round them (`nn::scan_range`); in fp32 it does not. Throws UsageError if finite values
/// would become infinite, which names the parameters, the worst first, and what helps. Warns of
/// parameters that lose a tenth of their values to zero, and of variances that are negative.
/// Otherwise it is one line in the log.
void check_range(Learner& learn, const PrecisionSection& precision, const std::string& from);

}  // namespace learn
