#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

#include <cstdint>

/// Reductions. Sums have the same bits for any number of threads. All throw ShapeError, DTypeError
/// or DeviceError unless the operands fit. Where values are ranked, a NaN is larger than any number
/// and the first of equal values comes first, as in PyTorch's argmax.
namespace learn::kernels {

/// y (one element, f32, or f64 for f64 x) = factor * the sum of all elements of x.
void sum(Context& ctx, const Tensor& x, double factor, Tensor& y);
/// dx (+)= factor * dy for each element, dy being the one element of `sum`'s result.
void sum_backward(Context& ctx, const Tensor& dy, double factor, Tensor& dx, GradMode mode);

/// index (N) i64 = the place of the largest value of each row of x (N,C), C > 0.
void argmax(Context& ctx, const Tensor& x, Tensor& index);
/// The k largest of each row of x (N,C) in falling order: values (N,k) of x's dtype and their
/// places, index (N,k) i64. Throws UsageError unless 1 <= k <= C.
void top_k(Context& ctx, const Tensor& x, Tensor& values, Tensor& index);

enum class Counted : std::uint8_t { hits, misses };

/// count (one element, i64) += how many rows of x (N,C) have their class among the k largest, or
/// how many have not. `target` holds the classes, (N) i64, or weights (N,C) of x's wide type, the
/// largest of which is the class. k = 1 counts the right predictions. A NaN is never right: that of
/// the class itself is a miss, whatever k is, and that of another class comes before all numbers.
/// Throws UsageError for k < 1 and DataError for a class that is not in [0, C): on a CUDA device at
/// the next synchronisation.
void count_hits(Context& ctx,
                const Tensor& x,
                const Tensor& target,
                std::int64_t k,
                Counted counted,
                Tensor& count);

}  // namespace learn::kernels
