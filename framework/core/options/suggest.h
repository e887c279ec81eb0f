#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `given`: at most two edits away (case aside, - is _) and nearer than a
/// chance word, or the only one that starts with `given`; never `given` itself. Else empty.
[[nodiscard]] std::string nearest(std::string_view given, const std::vector<std::string>& known);

/// "; did you mean 'x'?" or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view given,
                                       const std::vector<std::string>& known);

/// Throws UsageError with a suggestion and the list unless `given` is among `known`. `kind`:
/// "model".
void require_known(std::string_view kind,
                   std::string_view given,
                   const std::vector<std::string>& known);

}  // namespace learn
