#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

#include <cstdint>

/// Reductions. Sums are identical, bit for bit, for any number of threads. All functions throw
/// ShapeError, DTypeError or DeviceError unless the operands match. Where values are ranked, a NaN
/// is larger than any number, and the first of equal values comes first, as in PyTorch's argmax.
namespace learn::kernels {

/// Computes y (one element, f32, or f64 for f64 x) = factor * the sum of all elements of x.
void sum(Context& ctx, const Tensor& x, double factor, Tensor& y);
/// Computes dx (+)= factor * dy for each element. dy is the gradient of the one element that `sum`
/// computes.
void sum_backward(Context& ctx, const Tensor& dy, double factor, Tensor& dx, GradMode mode);

/// Computes index (N) i64 = the position of the largest value of each row of x (N,C), C > 0.
void argmax(Context& ctx, const Tensor& x, Tensor& index);
/// Finds the k largest values of each row of x (N,C) in descending order: values (N,k) of x's dtype
/// and their positions, index (N,k) i64. Throws UsageError unless 1 <= k <= C.
void top_k(Context& ctx, const Tensor& x, Tensor& values, Tensor& index);

enum class Counted : std::uint8_t { hits, misses };

/// Adds to count (one element, i64) the number of rows of x (N,C) whose class is among the k
/// largest values, or the number of rows whose class is not. `target` contains the classes, (N)
/// i64, or weights (N,C) of x's wide type, the largest of which is the class. k = 1 counts the
/// correct predictions. A NaN is never correct: a NaN at the class itself is a miss for any k, and
/// a NaN at another class ranks before all numbers. Throws UsageError for k < 1 and DataError for a
/// class that is not in [0, C). On a CUDA device the DataError is thrown at the next
/// synchronization.
void count_hits(Context& ctx,
                const Tensor& x,
                const Tensor& target,
                std::int64_t k,
                Counted counted,
                Tensor& count);

}  // namespace learn::kernels
