#pragma once
#include <cstdint>

namespace learn {

/// What a backward kernel does with its destination: the first writer overwrites, later ones add.
/// So no gradient buffer is ever cleared and no temporary is made to be added.
enum class GradMode : std::uint8_t { overwrite, accumulate };

}  // namespace learn
