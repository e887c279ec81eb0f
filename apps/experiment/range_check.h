#pragma once
#include <string>

namespace learn {

class Learner;
struct PrecisionSection;

/// Checks weights loaded from `from` before a training rounds them to the half of `precision`
/// (`nn::scan_range`); does nothing in fp32. Throws UsageError if finite values would become
/// infinite; the message names the parameters, the worst first, and suggests remedies. Warns of
/// parameters that lose a tenth of their values to zero, and of negative variances. Otherwise logs
/// one line.
void check_range(Learner& learn, const PrecisionSection& precision, const std::string& from);

}  // namespace learn
