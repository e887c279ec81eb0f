#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/map/program.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <span>

/// Elementwise programs over tensors of any shape (ADR 0031).
namespace learn::kernels {

/// The destination of a result of `map`.
struct MapResult {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};

/// Computes results[k] (+)= output k of the program, element by element. Results have one shape, to
/// which each input is broadcast as in NumPy: dimensions are aligned at the end, and an extent that
/// is 1 or missing is repeated. Each tensor may have a different dtype. Arithmetic is in f32, also
/// for integers, and a result is rounded once. If a tensor is f64, which only the CPU supports, all
/// floating tensors must be f64, and arithmetic is in double. A result may be an input if it is the
/// same tensor and not repeated. Inputs that the program does not read may be undefined. Throws
/// ShapeError, DTypeError, DeviceError, and UsageError unless there are as many inputs and results
/// as in the program.
void map(Context& ctx,
         const MapProgram& program,
         std::span<const Tensor> inputs,
         std::span<MapResult> results);

/// Computes y (+)= the only output of the program, as `map` with one result.
void map(Context& ctx,
         const MapProgram& program,
         std::span<const Tensor> inputs,
         const Tensor& y,
         GradMode mode = GradMode::overwrite);

/// Computes y (+)= x with its dimensions permuted: y's dimension i is x's dimension `order[i]`.
/// Throws ShapeError, DTypeError, DeviceError.
void permute(Context& ctx, const Tensor& x, std::span<const int> order, Tensor& y, GradMode mode);

/// The elements of a dimension that `slice` takes: first, first + step, and so on.
struct Slice {
  std::int64_t first = 0;
  std::int64_t step = 1;  ///< may be negative
};

/// Computes y (+)= the elements of x that the slices select, one slice for each dimension, as many
/// elements as y has. y must not overlap x. Throws ShapeError, also for a slice that leaves x,
/// DTypeError, DeviceError.
void slice(Context& ctx,
           const Tensor& x,
           std::span<const Slice> slices,
           Tensor& y,
           GradMode mode = GradMode::overwrite);

/// Sets y (...,classes) to 1 at the class given by `classes` (...), i64 or another integer type,
/// and to 0 elsewhere. A class out of range gives zeros only. Throws ShapeError, DTypeError,
/// DeviceError.
void one_hot(Context& ctx, const Tensor& classes, Tensor& y);

/// Returns the shape to which all of `shapes` are broadcast. Throws a ShapeError that names `op`
/// and two shapes that do not match.
[[nodiscard]] Shape broadcast_shape(std::string_view op, std::span<const Shape> shapes);

}  // namespace learn::kernels
