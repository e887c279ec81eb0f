#pragma once
#include <string>
#include <utility>
#include <vector>

namespace learn::data {

/// Two names that look the same, in ASCII: "cat" and "cat\u00a0".
using AlikeNames = std::pair<std::string, std::string>;

/// Returns pairs of names that look alike (unicode.h), each with the first of its kind.
[[nodiscard]] std::vector<AlikeNames> alike_names(const std::vector<std::string>& names);

/// Warns in the log of such pairs in `names`, the classes of the data set `set`.
void warn_of_alike_names(const std::vector<std::string>& names, const std::string& set);

/// Returns the one of `names` that looks like `name`, as the end of a message; empty if they all
/// differ.
[[nodiscard]] std::string alike_hint(const std::string& name,
                                     const std::vector<std::string>& names);

}  // namespace learn::data
