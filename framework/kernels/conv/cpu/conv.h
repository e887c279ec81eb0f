#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/kernels/conv/cpu/conv_epilogue.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Convolution on the CPU: f32, f16, bf16, summed in f32. If there is a matrix unit, bf16 is
/// multiplied directly; otherwise halves are first converted to f32 in workspace memory as a whole.
/// The result is identical, bit for bit, for any number of threads.
namespace learn::cpu {

/// Computes y = x * w [+ bias]; `bias` may be null.
template <class T>
void conv2d_forward(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y);
/// Computes the forward pass in f32 and applies the epilogue to each output.
void conv2d_forward(const Exec& exec,
                    const ConvGeometry& g,
                    const float* x,
                    const float* weight,
                    const float* bias,
                    float* y,
                    const ConvEpilogue& epilogue);
template <class T>
void conv2d_backward_data(
    const Exec& exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode);
template <class T>
void conv2d_backward_weight(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode);

}  // namespace learn::cpu
