#pragma once

namespace learn {

/// The environment variable of that name; null if it is not set, or set to an empty text.
[[nodiscard]] const char* environment(const char* name) noexcept;

}  // namespace learn
