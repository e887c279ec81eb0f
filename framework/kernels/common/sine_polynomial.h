#pragma once
#include <cstdint>

namespace learn {

/// Returns the sine of `quarters` * pi / 2 + `rest`, |rest| <= pi/4, on any device, with the
/// polynomials of Cephes' sinf.
[[nodiscard]] constexpr float sine_polynomial(float rest, std::uint32_t quarters) {
  const float square = rest * rest;
  const float s = (-1.9515295891e-4F * square + 8.3321608736e-3F) * square - 1.6666654611e-1F;
  const float c =
      (2.443315711809948e-5F * square - 1.388731625493765e-3F) * square + 4.166664568298827e-2F;
  const float sine = s * square * rest + rest;
  const float cosine = c * square * square - 0.5F * square + 1;
  const float value = (quarters & 1U) != 0 ? cosine : sine;
  return (quarters & 2U) != 0 ? -value : value;
}

}  // namespace learn
