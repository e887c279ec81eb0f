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

/// All that decides how a convolution is run on one device.
struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  ConvGeometry geometry;
  DType dtype = DType::f32;
  bool bias = false;        ///< forward only: added in the same kernel
  bool accumulate = false;  ///< backward only: adds to its result
  bool winograd = true;     ///< by it or by FFT, if that is faster

  friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
  /// Every field, for people and for the keys of caches on disk.
  [[nodiscard]] std::string text() const;
};

struct ConvProblemHash {
  [[nodiscard]] std::size_t operator()(const ConvProblem& problem) const noexcept;
};

/// Returns the convolution with as many channels as cuDNN's fast engines need. Halves are
/// multiplied by tensor cores in rows of 16 bytes, so both channel counts are raised to multiples
/// of 8; the new channels are zeros and change nothing. f32 and grouped convolutions stay as they
/// are.
[[nodiscard]] ConvGeometry padded_geometry(const ConvGeometry& geometry, DType dtype);

}  // namespace learn::cuda::cudnn
