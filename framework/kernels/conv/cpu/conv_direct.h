#pragma once
#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/cpu/simd/kernels.h"
#include "framework/kernels/common/cpu/simd/tiles.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/kernels/conv/cpu/conv_epilogue.h"
#include "framework/runtime/prepared_weights.h"
#include "framework/tensor/arena.h"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Convolutions of any geometry as matrix products over gathered rows, f32.
namespace learn::cpu {

/// The resources that a convolution on the CPU needs in addition to its operands.
struct ConvResources {
  ThreadPool& threads;
  Arena& workspace;
  const simd::Kernels& kernels;
  const simd::TileKernels* tiles = nullptr;  ///< null if the machine has no matrix unit
  bool winograd = true;                      ///< whether Winograd may be used
  PreparedWeights* prepared = nullptr;       ///< null if weights change
};

/// Returns pointers to `count` rows that are `stride` floats apart.
[[nodiscard]] inline std::vector<float*> row_pointers(float* data,
                                                      std::int64_t count,
                                                      std::int64_t stride) {
  std::vector<float*> rows(static_cast<std::size_t>(count));
  for (float*& row : rows) {
    row = data;
    data += stride;
  }
  return rows;
}

/// Computes the forward pass; `bias` and `epilogue` may be null.
void direct_forward(const ConvResources& on,
                    const ConvGeometry& g,
                    const float* x,
                    const float* weight,
                    const float* bias,
                    float* y,
                    const ConvEpilogue* epilogue);
void direct_backward_data(const ConvResources& on,
                          const ConvGeometry& g,
                          const float* dy,
                          const float* weight,
                          float* dx,
                          GradMode mode);
void direct_backward_weight(const ConvResources& on,
                            const ConvGeometry& g,
                            const float* x,
                            const float* dy,
                            float* dw,
                            GradMode mode);

/// One way to compute the three passes.
struct ConvPath {
  decltype(&direct_forward) forward;
  decltype(&direct_backward_data) backward_data;
  decltype(&direct_backward_weight) backward_weight;
};
inline constexpr ConvPath kDirectPath{direct_forward, direct_backward_data, direct_backward_weight};

}  // namespace learn::cpu
