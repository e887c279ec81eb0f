#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace learn::cuda {

/// Images with `channels` elements per pixel, either the number in the geometry or more, filled up
/// with zeros.
struct ConvInput {
  const void* data;
  std::int64_t channels;
};

/// Convolution by cuDNN: f32, f16, bf16, summed in f32. Device pointers. It only enqueues, except
/// for the first call of each shape, which chooses a plan. An object belongs to one context, whose
/// device must be current. cuDNN is loaded at the first call. Throws DeviceError with cuDNN's text.
class Convolutions {
 public:
  Convolutions();
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  /// Computes y = x * w [+ bias]; `bias` may be null.
  void forward(const Exec& exec,
               const ConvGeometry& g,
               DType dtype,
               const ConvInput& x,
               const void* w,
               const void* bias,
               void* y);
  void backward_data(const Exec& exec,
                     const ConvGeometry& g,
                     DType dtype,
                     const void* dy,
                     const void* w,
                     void* dx,
                     GradMode mode);
  void backward_weight(const Exec& exec,
                       const ConvGeometry& g,
                       DType dtype,
                       const ConvInput& x,
                       const void* dy,
                       void* dw,
                       GradMode mode);

 private:
  struct Impl;
  Impl& ready(const Exec& exec);

  std::unique_ptr<Impl> impl_;
};

template <class T>
void conv2d_forward(
    const Exec& exec, ConvGeometry g, const T* x, const T* weight, const T* bias, T* y) {
  const ConvInput in{x, std::max(g.c, std::exchange(g.x_width, 0))};
  exec.runtime.cache<Convolutions>().forward(exec, g, kDType<T>, in, weight, bias, y);
}
template <class T>
void conv2d_backward_data(
    const Exec& exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode) {
  exec.runtime.cache<Convolutions>().backward_data(exec, g, kDType<T>, dy, weight, dx, mode);
}
template <class T>
void conv2d_backward_weight(
    const Exec& exec, ConvGeometry g, const T* x, const T* dy, T* dw, GradMode mode) {
  const ConvInput in{x, std::max(g.c, std::exchange(g.x_width, 0))};
  exec.runtime.cache<Convolutions>().backward_weight(exec, g, kDType<T>, in, dy, dw, mode);
}

}  // namespace learn::cuda
