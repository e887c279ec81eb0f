#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>

/// Convolution on the CPU: f32, f16, bf16, summed in f32. bf16 is multiplied as it is
/// where there is a matrix unit; else halves are converted to f32 in workspace as a whole. The same
/// bits for any number of threads.
namespace learn::cpu {

/// `bias` may be null.
template <class T>
void conv2d_forward(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y);
template <class T>
void conv2d_backward_data(
    const Exec& exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode);
template <class T>
void conv2d_backward_weight(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode);

/// db (k) (+)= dy (rows,k) summed over rows.
template <class T>
void bias_backward(
    const Exec& exec, const T* dy, std::int64_t rows, std::int64_t k, T* db, GradMode mode);

/// narrow (rows,columns) = the first columns of x (rows,width).
template <class T>
void unpad_channels(const Exec&,
                    const T* x,
                    std::int64_t rows,
                    std::int64_t width,
                    T* narrow,
                    std::int64_t columns,
                    GradMode) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(x + row * width, columns, narrow + row * columns);
}

/// A linear layer is a convolution of 1x1 pictures.
template <class T>
void linear_forward(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  conv2d_forward(exec, g, x, weight, bias, y);
}
template <class T>
void linear_backward_data(
    const Exec& exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode) {
  conv2d_backward_data(exec, g, dy, weight, dx, mode);
}
/// Leaves the bias's gradient alone.
template <class T>
[[nodiscard]] bool linear_backward_weight(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode, T*) {
  conv2d_backward_weight(exec, g, x, dy, dw, mode);
  return false;
}

}  // namespace learn::cpu
