#pragma once
#include <cstdint>

namespace learn {

/// How a backward kernel writes its destination. The first writer overwrites and later ones add, so
/// gradient buffers are never cleared and no temporary is needed for an addition.
enum class GradMode : std::uint8_t { overwrite, accumulate };

}  // namespace learn
