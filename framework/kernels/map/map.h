#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/map/program.h"
#include "framework/runtime/context.h"

#include <span>

/// Elementwise programs over tensors of any shape (ADR 0031).
namespace learn::kernels {

/// Where a result of `map` goes.
struct MapResult {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};

/// results[k] (+)= output k of the program, element by element. Results have one shape, to which
/// each input is broadcast as in NumPy: aligned at the end, where an extent of 1 or none repeats
/// it. Each tensor has its own dtype: arithmetic is in f32, of whole numbers too, and a result is
/// rounded once. With f64, which lives on the CPU, all that are floating must be f64; arithmetic is
/// double then. A result may be an input, if it is the same tensor and not repeated; inputs that
/// the program does not read may be undefined. Throws ShapeError, DTypeError, DeviceError;
/// UsageError for another number of inputs or results than the program has.
void map(Context& ctx,
         const MapProgram& program,
         std::span<const Tensor> inputs,
         std::span<MapResult> results);

/// y (+)= x with its dimensions in another order: y's dimension i is x's dimension `order[i]`.
/// Throws ShapeError, DTypeError, DeviceError.
void permute(Context& ctx, const Tensor& x, std::span<const int> order, Tensor& y, GradMode mode);

/// y (...,classes) = 1 at the class that `classes` (...) says, i64 or another whole number, and 0
/// elsewhere: everywhere if there is no such class. Throws ShapeError, DTypeError, DeviceError.
void one_hot(Context& ctx, const Tensor& classes, Tensor& y);

/// The shape that all of `shapes` are broadcast to. Throws ShapeError that names `op` and two that
/// do not fit.
[[nodiscard]] Shape broadcast_shape(std::string_view op, std::span<const Shape> shapes);

}  // namespace learn::kernels
