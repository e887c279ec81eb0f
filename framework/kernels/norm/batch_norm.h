#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// The inputs. x (N,H,W,C) or (N,C) and `residual` (the shape of x, or undefined for none) share a
/// floating dtype; `weight` and `bias` (C) are f32 (f64 for f64 x).
struct BatchNormOperands {
  Tensor x, weight, bias, residual;
};

/// The statistics with which a forward pass normalized, needed by its backward pass. Both are (C),
/// f32 (f64 for f64 x); rstd = 1 / sqrt(biased variance + eps).
struct BatchNormStatistics {
  Tensor mean, rstd;
};

/// The destination of one gradient of the backward pass. A gradient whose tensor is undefined is
/// not computed.
struct BatchNormGradient {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};
struct BatchNormGradients {
  BatchNormGradient x, weight, bias, residual;
};

/// Computes y = act((x - mean) * rstd * weight + bias [+ residual]) [+ residual] with the
/// statistics of the batch, and stores them in `statistics`. Updates the running statistics (C) by
/// running = (1 - momentum) * running + momentum * batch, with the unbiased variance, as PyTorch
/// does. y must not share memory with an input. Throws ShapeError, DTypeError, DeviceError, and
/// Error if there are fewer than two values per channel.
void batch_norm_train(Context& ctx,
                      const BatchNormOperands& in,
                      Tensor& running_mean,
                      Tensor& running_var,
                      const BatchNormOptions& options,
                      Tensor& y,
                      BatchNormStatistics& statistics);

/// Computes y as `batch_norm_train` does, but with the running statistics, which it copies into
/// `statistics`.
void batch_norm_eval(Context& ctx,
                     const BatchNormOperands& in,
                     const Tensor& running_mean,
                     const Tensor& running_var,
                     const BatchNormOptions& options,
                     Tensor& y,
                     BatchNormStatistics& statistics);

/// Computes the scale and shift that `batch_norm_eval` applies to each value of a channel before
/// activation and residual: bn(x) = x * scale + shift. All tensors are (C) in f32 on the CPU, and
/// the result is identical bit for bit. Throws ShapeError, DTypeError.
void batch_norm_affine(Context& ctx,
                       const Tensor& weight,
                       const Tensor& bias,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       float eps,
                       Tensor& scale,
                       Tensor& shift);

/// The forward pass to which a backward pass belongs. The statistics depend on x only in training.
enum class BatchNormPass : std::uint8_t { train, eval };

/// Computes the gradients of a forward pass from its operands and its `statistics`. `out.x` and
/// `out.residual` may be the same memory (if x is its own residual).
void batch_norm_backward(Context& ctx,
                         BatchNormPass pass,
                         const BatchNormOperands& in,
                         const BatchNormStatistics& statistics,
                         const BatchNormOptions& options,
                         const Tensor& dy,
                         BatchNormGradients& out);

/// The following functions normalize a batch that is split between ranks, each a process with
/// some of the rows, as one batch. Each rank computes moments (forward) and gradient sums
/// (backward) of its rows; the caller gathers them from all ranks, and each rank continues with all
/// of them. A rank contributes nothing if the caller replaces its moments and sums by zeros:
/// because it has no rows, or in order not to count them.

/// Computes the moments (2 C + 1) of x, f32 (f64 for f64 x): the mean of each channel, the sum of
/// squared deviations from it, and the number of rows. Throws ShapeError, also for an x without
/// rows, DTypeError, DeviceError.
void batch_norm_moments(Context& ctx, const Tensor& x, Tensor& moments);

/// Computes y as `batch_norm_train` does, but with the statistics of all ranks: joins their
/// `moments` (R, 2 C + 1) in the order of ranks by the formula of Chan, Golub and LeVeque (1983).
/// Writes the number of rows of all ranks, by which the running variance is unbiased, to `rows` (1)
/// in the dtype of the moments. `suffices` says that all ranks together have two values per channel
/// or more; otherwise it waits for the device to count them. Throws ShapeError, DTypeError,
/// DeviceError, and Error if there are fewer.
void batch_norm_train_joined(Context& ctx,
                             const BatchNormOperands& in,
                             const Tensor& moments,
                             bool suffices,
                             Tensor& running_mean,
                             Tensor& running_var,
                             const BatchNormOptions& options,
                             Tensor& y,
                             BatchNormStatistics& statistics,
                             Tensor& rows);

/// Computes the `sums` (2 C), f32 (f64 for f64 x), over the rows of x: first the gradient g of
/// bn(x) of each channel, then g * xhat with xhat = (x - mean) * rstd. Without rows they are zeros.
/// Throws ShapeError, DTypeError, DeviceError.
void batch_norm_gradient_sums(Context& ctx,
                              const BatchNormOperands& in,
                              const BatchNormStatistics& statistics,
                              const BatchNormOptions& options,
                              const Tensor& dy,
                              Tensor& sums);

/// The gradient sums of a backward pass over several ranks.
struct BatchNormRankSums {
  Tensor own;           ///< (2 C): of this rank, as it has sent them
  Tensor all;           ///< (R, 2 C): of all ranks
  Tensor rows;          ///< (1), as `batch_norm_train_joined` has written it
  bool counted = true;  ///< whether the rows of this rank are among them
};

/// Computes the gradients of a forward pass by `batch_norm_train_joined`. If the rows of this rank
/// are counted, dx includes the path through the statistics of all ranks. The gradients of weight
/// and bias are sums over the rows of this rank; adding them over the ranks gives the gradients of
/// the whole batch. Throws ShapeError, DTypeError, DeviceError.
void batch_norm_backward_joined(Context& ctx,
                                const BatchNormOperands& in,
                                const BatchNormStatistics& statistics,
                                const BatchNormRankSums& sums,
                                const BatchNormOptions& options,
                                const Tensor& dy,
                                BatchNormGradients& out);

}  // namespace learn::kernels
