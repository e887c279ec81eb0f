#pragma once
#include <cstdint>

namespace learn {

/// Logical processors this process may use, at least 1.
[[nodiscard]] int usable_processors();
/// Physical cores among them, at least 1.
[[nodiscard]] int physical_cores();
/// `threads`, or as many as physical cores if it is 0 or less.
[[nodiscard]] int threads_or_cores(int threads);
/// Bytes of memory that the machine has.
[[nodiscard]] std::uintmax_t physical_memory();

}  // namespace learn
