#pragma once
#include <string>

namespace learn::cli {

/// `learn options [NAME]`: what can be chosen by name, of a kind (callback, data set, metric,
/// model, optimizer, schedule), or one of it, with its options, their ranges and defaults. Empty:
/// all. Throws UsageError for a name that is neither.
int options(const std::string& name);

}  // namespace learn::cli
