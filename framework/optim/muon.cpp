#include "framework/optim/muon.h"

#include "framework/kernels/cast/cast.h"
#include "framework/kernels/map/map.h"
#include "framework/kernels/product/linear.h"
#include "framework/kernels/reduce/reduce_axes.h"
#include "framework/optim/registry.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace learn::optim {
namespace {

using expr::arg;
using kernels::MapProgram;
using kernels::MapResult;

constexpr double kEps = 1e-7;
// The authors' quintic a x + b x^3 + c x^5, steep at 0.
constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

/// The last weight of two or more dimensions, in the order of declaration; -1 without one.
std::int64_t last_weight(const nn::ParamStore& store) {
  for (std::int64_t i = store.size() - 1; i >= 0; --i)
    if (nn::is_weight(store.info(i).role) && store.info(i).shape.rank() >= 2) return i;
  return -1;
}

Shape matrix_shape(const Shape& shape) {
  return {shape[0], shape.elements() / std::max<std::int64_t>(1, shape[0])};
}

/// The sum of squares, (1,1).
Tensor sum_of_squares(Context& ctx, const Tensor& matrix) {
  static const MapProgram kSquare = kernels::compile(arg(0) * arg(0));
  Tensor squares = ctx.empty(matrix.shape(), DType::f32);
  kernels::map(ctx, kSquare, std::array{matrix}, squares);
  Tensor sum = ctx.empty({1, 1}, DType::f32);
  kernels::reduce_axes(ctx, kernels::Reduction::sum, squares, 1, sum);
  return sum;
}

Tensor transposed(Context& ctx, const Tensor& matrix) {
  Tensor out = ctx.empty({matrix.shape()[1], matrix.shape()[0]}, matrix.dtype());
  kernels::permute(ctx, matrix, std::array{1, 0}, out, GradMode::overwrite);
  return out;
}

}  // namespace

Muon::Muon(nn::ParamStore& store, const MuonOptions& options)
    : Optimizer(store, common_options(options), {.momentum = static_cast<float>(options.momentum)}),
      iterations_(options.iterations),
      normalize_(options.normalize),
      head_(last_weight(store)),
      buffer_(store.state("momentum_buffer")) {
  check<UsageError>(
      iterations_ >= 1, "muon: iterations must be at least 1, not {}", options.iterations);
}

void Muon::update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) {
  const nn::ParamStore& params = store();
  const bool with_momentum = hypers(group).momentum != 0;
  const auto part = [](const Tensor& of, std::int64_t begin, std::int64_t count) {
    return of.defined() ? of.range(begin, count) : of;
  };
  // Parameters of the segment in their order in memory, and the gaps after them.
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (params.offset(i) >= segment.begin && params.offset(i) < segment.begin + segment.count)
      inside.push_back(i);
  std::ranges::sort(inside, {}, [&](std::int64_t i) { return params.offset(i); });
  for (std::size_t k = 0; k < inside.size(); ++k) {
    const std::int64_t i = inside[k];
    const std::int64_t begin = params.offset(i) - segment.begin;
    const std::int64_t end =
        k + 1 < inside.size() ? params.offset(inside[k + 1]) - segment.begin : segment.count;
    const bool is_matrix =
        nn::is_weight(params.info(i).role) && params.info(i).shape.rank() >= 2 && i != head_;
    const std::int64_t count = is_matrix ? params.info(i).shape.elements() : end - begin;
    kernels::OptimTensors one = tensors;
    one.weight = part(tensors.weight, begin, count);
    one.grad = part(tensors.grad, begin, count);
    one.half = part(tensors.half, begin, count);
    Tensor buffer =
        with_momentum || is_matrix ? buffer_.range(segment.begin + begin, count) : Tensor();
    if (is_matrix)
      update_matrix(i, one, buffer);
    else
      kernels::sgd_step(store().context(), one, buffer, with_momentum);
  }
}

void Muon::update_matrix(std::int64_t param,
                         const kernels::OptimTensors& tensors,
                         Tensor buffer) const {
  Context& ctx = store().context();
  const Shape shape = matrix_shape(store().info(param).shape);
  const Tensor weight = tensors.weight.view(shape);
  buffer = buffer.view(shape);
  const Tensor skips = tensors.control.member(&StepControl::found_inf);
  const Tensor rate = tensors.hypers.member(&GroupHypers::lr);
  const Tensor decay = tensors.hypers.member(&GroupHypers::weight_decay);
  const bool coupled = !tensors.decoupled_decay;
  const Expr g = arg(1) * arg(2) + (coupled ? arg(5) * arg(6) : Expr(0.0));
  const Expr b = select(arg(4), arg(0), arg(3) * arg(0) + g);
  const MapProgram moves = kernels::compile(std::array{b, g + arg(3) * b});
  const std::array inputs{buffer,
                          tensors.grad.view(shape),
                          tensors.control.member(&StepControl::grad_multiplier),
                          tensors.hypers.member(&GroupHypers::momentum),
                          skips,
                          weight,
                          decay};
  Tensor direction = ctx.empty(shape, DType::f32);
  std::array results{MapResult{buffer}, MapResult{direction}};
  kernels::map(ctx, moves, inputs, results);

  const Expr scale =
      normalize_ ? std::sqrt(static_cast<double>(shape[0])) / sqrt(arg(5)) : Expr(1.0);
  const Expr kept = coupled ? Expr(1.0) : 1 - arg(2) * arg(3);
  const MapProgram steps =
      kernels::compile(select(arg(4), arg(0), arg(0) * scale * kept - arg(2) * arg(1)));
  const std::array operands{weight,
                            orthogonal(direction),
                            rate,
                            decay,
                            skips,
                            normalize_ ? sum_of_squares(ctx, weight) : Tensor()};
  kernels::map(ctx, steps, operands, weight);
  if (!tensors.half.defined()) return;
  Tensor half = tensors.half.view(shape);
  kernels::cast(ctx, weight, half);
}

Tensor Muon::orthogonal(const Tensor& matrix) const {
  Context& ctx = store().context();
  const bool tall = matrix.shape()[0] > matrix.shape()[1];
  Tensor x = tall ? transposed(ctx, matrix) : matrix;
  const std::int64_t rows = x.shape()[0];
  static const MapProgram kScaled = kernels::compile(arg(0) / (sqrt(arg(1)) + kEps));
  static const MapProgram kPolynomial = kernels::compile(kB * arg(0) + kC * arg(1));
  static const MapProgram kSum = kernels::compile(kA * arg(0) + arg(1));
  Tensor next = ctx.empty(x.shape(), DType::f32);
  kernels::map(ctx, kScaled, std::array{x, sum_of_squares(ctx, x)}, next);
  x = next;
  Tensor square = ctx.empty({rows, rows}, DType::f32);
  Tensor fourth = ctx.empty({rows, rows}, DType::f32);
  Tensor product = ctx.empty(x.shape(), DType::f32);
  for (std::int64_t i = 0; i < iterations_; ++i) {
    kernels::linear_forward(ctx, x, x, {}, square);
    kernels::linear_forward(ctx, square, square, {}, fourth);  // it is symmetric
    kernels::map(ctx, kPolynomial, std::array{square, fourth}, square);
    kernels::linear_backward_data(ctx, square, x, product, GradMode::overwrite);
    kernels::map(ctx, kSum, std::array{x, product}, x);
  }
  return tall ? transposed(ctx, x) : x;
}

OptimizerFactory muon(const MuonOptions& options) {
  return [options](nn::ParamStore& store) { return std::make_unique<Muon>(store, options); };
}

void register_muon(OptimizerRegistry& registry) {
  registry.add(
      "muon",
      "orthogonal updates of weight matrices, SGD for the rest",
      MuonOptions{},
      [](OptionTable& t, MuonOptions& o) {
        t.number("momentum", o.momentum, kShare, "M", "momentum");
        t.number("iterations",
                 o.iterations,
                 {.low = 1, .high = 100},
                 "N",
                 "iterations of Newton and Schulz");
        t.flag("normalize", o.normalize, "keep the norm of each matrix");
        declare_decay(t, o);
        declare_common(t, o);
      },
      [](const MuonOptions& o) {
        return NamedOptimizer{muon(o), 0.02};
      });
}

}  // namespace learn::optim
