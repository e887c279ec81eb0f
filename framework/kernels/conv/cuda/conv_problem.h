#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/conv/conv_geometry.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace learn::cuda::cudnn {

enum class ConvPass : std::uint8_t { forward, backward_data, backward_weight };

[[nodiscard]] constexpr const char* name_of(ConvPass pass) noexcept {
  switch (pass) {
    case ConvPass::forward:
      return "forward";
    case ConvPass::backward_data:
      return "backward_data";
    case ConvPass::backward_weight:
      return "backward_weight";
  }
  return "?";
}

/// Everything that determines how a convolution runs on one device.
struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  ConvGeometry geometry;
  DType dtype = DType::f32;
  bool bias = false;        ///< forward only: added in the same kernel
  bool accumulate = false;  ///< backward only: adds to its result
  bool winograd = true;     ///< allows Winograd or FFT if that is faster

  friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
  /// Returns every field as text, for display and for the keys of caches on disk.
  [[nodiscard]] std::string text() const;
};

struct ConvProblemHash {
  [[nodiscard]] std::size_t operator()(const ConvProblem& problem) const noexcept;
};

/// Returns the same convolution with the number of channels that cuDNN's fast engines need. Tensor
/// cores multiply halves in rows of 16 bytes, so both channel counts are rounded up to multiples of
/// 8; the new channels are zeros and have no effect. f32 and grouped convolutions are unchanged.
[[nodiscard]] ConvGeometry padded_geometry(const ConvGeometry& geometry, DType dtype);

}  // namespace learn::cuda::cudnn
