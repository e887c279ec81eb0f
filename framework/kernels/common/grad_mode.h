#pragma once
#include <cstdint>

namespace learn {

/// How a backward kernel writes to its destination: the first writer overwrites, later ones add.
/// Gradient buffers are therefore never cleared, and no temporary is needed for the addition.
enum class GradMode : std::uint8_t { overwrite, accumulate };

}  // namespace learn
