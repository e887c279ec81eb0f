#pragma once

namespace learn {

/// Logical processors this process may use, at least 1.
[[nodiscard]] int usable_processors();
/// Physical cores among them, at least 1.
[[nodiscard]] int physical_cores();

}  // namespace learn
