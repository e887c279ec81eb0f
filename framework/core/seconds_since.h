#pragma once
#include <chrono>

namespace learn {

/// Seconds from `begin` until now.
[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace learn
