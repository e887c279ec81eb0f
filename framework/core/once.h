#pragma once
#include <string>

namespace learn {

/// True at the first call of this process with that text: for what is logged once, however often it
/// happens.
[[nodiscard]] bool first_time(const std::string& text);

}  // namespace learn
