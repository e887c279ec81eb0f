#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

#include <cstdint>

/// Elementwise arithmetic of any shape, in f64, f32, f16 or bf16. All functions throw ShapeError,
/// DTypeError or DeviceError unless the operands agree. Outputs may be inputs.
namespace learn::kernels {

/// Computes y = a + b.
void add(Context& ctx, const Tensor& a, const Tensor& b, Tensor& y);
/// Computes y (+)= a * b. With dy for `a` and the other factor for `b`, this is the gradient of a
/// product.
void multiply(
    Context& ctx, const Tensor& a, const Tensor& b, Tensor& y, GradMode mode = GradMode::overwrite);
/// Computes y (+)= factor * x.
void scale(
    Context& ctx, const Tensor& x, double factor, Tensor& y, GradMode mode = GradMode::overwrite);

/// Computes y (...,C) = x (...,C) + bias (C). The bias's gradient is `bias_backward` of
/// common/bias.h.
void add_bias(Context& ctx, const Tensor& x, const Tensor& bias, Tensor& y);
/// Parameters of a dropout mask. Element i is dropped if uniform01(random4(seed, dropout, batch,
/// (stream << 40) + first + i).v[0]) < p, with the context's seed. The result is identical, bit for
/// bit, for any number of threads.
struct DropoutMask {
  double p = 0;              ///< probability to drop, in [0, 1)
  Tensor batch;              ///< (1) i64 on the device, so that a replayed step can change it
  std::uint64_t stream = 0;  ///< index of the random operation in the forward pass, below 2^24
  std::int64_t first = 0;  ///< index of x's first element in the whole batch, whose end is <= 2^40
};
/// Computes y (+)= x / (1 - p) where the mask keeps x, and 0 elsewhere. Throws UsageError for an
/// invalid p or `first`. The backward pass is the same operation on dy, so nothing needs to be
/// kept.
void dropout(Context& ctx,
             const DropoutMask& mask,
             const Tensor& x,
             Tensor& y,
             GradMode mode = GradMode::overwrite);

/// Copies `x`, seen as (outer, inner) with `inner` elements per row, into columns [offset, offset +
/// inner) of `y`, seen as (outer, width): one part of a concatenation.
void copy_into_columns(
    Context& ctx, const Tensor& x, Tensor& y, std::int64_t outer, std::int64_t offset);
/// Copies back, for the gradient: x (+)= those columns of y.
void copy_from_columns(Context& ctx,
                       const Tensor& y,
                       Tensor& x,
                       std::int64_t outer,
                       std::int64_t offset,
                       GradMode mode = GradMode::overwrite);

}  // namespace learn::kernels
