#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/cuda/library_resources.h"

#include <cstdint>
#include <memory>

namespace learn::cuda {

/// Pictures with `channels` elements a pixel: as many as the geometry says, or zeros behind them.
struct ConvInput {
  const void* data;
  std::int64_t channels;
};

/// The CUDA twin of convolution, by cuDNN: f32, f16, bf16, summed in f32. Device pointers; enqueues
/// only, but for the first call of each shape, which chooses a plan. One object belongs to one
/// context, whose device must be current; cuDNN is loaded at the first call. Throws DeviceError
/// with cuDNN's text.
class Convolutions {
 public:
  Convolutions();
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  /// y = x * w [+ bias]; `bias` may be null.
  void forward(const LibraryResources& on,
               const ConvGeometry& g,
               DType dtype,
               const ConvInput& x,
               const void* w,
               const void* bias,
               void* y);
  void backward_data(const LibraryResources& on,
                     const ConvGeometry& g,
                     DType dtype,
                     const void* dy,
                     const void* w,
                     void* dx,
                     GradMode mode);
  void backward_weight(const LibraryResources& on,
                       const ConvGeometry& g,
                       DType dtype,
                       const ConvInput& x,
                       const void* dy,
                       void* dw,
                       GradMode mode);

 private:
  struct Impl;
  Impl& ready(const LibraryResources& on);

  std::unique_ptr<Impl> impl_;
};

}  // namespace learn::cuda
