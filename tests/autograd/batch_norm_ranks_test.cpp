#include "framework/autograd/ops.h"
#include "framework/autograd/rank_gather.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/norm/batch_norm.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"
#include "tests/support/op_case.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using test::OpCase;
using test::OpInput;

namespace {

enum class Residual : std::uint8_t { none, before, after, self };

/// Samples of each rank.
using Shares = std::vector<std::int64_t>;

/// Normalizes a batch that is split between ranks, all of which are on one tape.
struct SplitNode final : Node {
  kernels::BatchNormOperands whole;
  BatchNormOptions options;
  std::vector<kernels::BatchNormOperands> in;  // by rank, as below
  std::vector<kernels::BatchNormStatistics> statistics;
  std::vector<Tensor> rows;
  Shares shares;

  SplitNode(kernels::BatchNormOperands operands, const BatchNormOptions& opts, Shares samples)
      : whole(std::move(operands)), options(opts), shares(std::move(samples)) {
    for_ranks([&](std::size_t, std::int64_t first, std::int64_t n) {
      in.push_back(whole);
      in.back().x = whole.x.rows(first, n);
      if (whole.residual.defined()) in.back().residual = whole.residual.rows(first, n);
    });
  }

  template <class Body>
  void for_ranks(Body body) const {
    std::int64_t first = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      body(r, first, shares[r]);
      first += shares[r];
    }
  }
  [[nodiscard]] std::int64_t ranks() const { return static_cast<std::int64_t>(shares.size()); }
  [[nodiscard]] std::int64_t channels() const { return whole.x.shape()[-1]; }
  [[nodiscard]] DType wide() const { return wide_dtype(whole.x.dtype()); }

  /// Updates `running_mean` and `running_var` as rank 0 does.
  Tensor forward(Tape& tape, Tensor running_mean, Tensor running_var) {
    Context& ctx = tape.context();
    const std::int64_t n = 2 * channels() + 1;
    const Tensor moments = tape.empty({ranks(), n}, wide());
    for_ranks([&](std::size_t r, std::int64_t, std::int64_t) {
      Tensor own = moments.range(static_cast<std::int64_t>(r) * n, n);
      if (shares[r] == 0)
        kernels::fill(ctx, own, 0);
      else
        kernels::batch_norm_moments(ctx, in[r].x, own);
    });
    Tensor y = tape.empty(whole.x.shape(), whole.x.dtype());
    const Tensor old_mean = copy_of(tape, running_mean);
    const Tensor old_var = copy_of(tape, running_var);
    for_ranks([&](std::size_t r, std::int64_t first, std::int64_t samples) {
      statistics.push_back({tape.empty({channels()}, wide()), tape.empty({channels()}, wide())});
      rows.push_back(tape.empty({1}, wide()));
      Tensor mean = r == 0 ? running_mean : copy_of(tape, old_mean);
      Tensor var = r == 0 ? running_var : copy_of(tape, old_var);
      Tensor part = y.rows(first, samples);
      kernels::batch_norm_train_joined(
          ctx, in[r], moments, true, mean, var, options, part, statistics[r], rows[r]);
    });
    return y;
  }

  std::string_view name() const override { return "split_batch_norm"; }

  void backward(Tape& tape, const Tensor& dy) override {
    Context& ctx = tape.context();
    const auto destination = [&](std::size_t i) {
      kernels::BatchNormGradient gradient;
      tape.accumulate(input(i), [&](Tensor& tensor, GradMode mode) { gradient = {tensor, mode}; });
      return gradient;
    };
    kernels::BatchNormGradients out{destination(0), destination(1), destination(2), {}};
    if (whole.residual.defined()) out.residual = destination(3);
    const std::int64_t n = 2 * channels();
    const Tensor all = tape.empty({ranks(), n}, wide());
    for_ranks([&](std::size_t r, std::int64_t first, std::int64_t samples) {
      Tensor own = all.range(static_cast<std::int64_t>(r) * n, n);
      kernels::batch_norm_gradient_sums(
          ctx, in[r], statistics[r], options, dy.rows(first, samples), own);
    });
    for_ranks([&](std::size_t r, std::int64_t first, std::int64_t samples) {
      kernels::BatchNormGradients part = out;
      part.x.tensor = out.x.tensor.rows(first, samples);
      if (whole.residual.defined()) part.residual.tensor = out.residual.tensor.rows(first, samples);
      if (r > 0) part.weight.mode = part.bias.mode = GradMode::accumulate;  // to the sum over ranks
      kernels::batch_norm_backward_joined(
          ctx,
          in[r],
          statistics[r],
          {all.range(static_cast<std::int64_t>(r) * n, n), all, rows[r], true},
          options,
          dy.rows(first, samples),
          part);
    });
  }

 private:
  static Tensor copy_of(Tape& tape, const Tensor& x) {
    Tensor y = tape.empty(x.shape(), x.dtype());
    copy(tape.context(), x, y);
    return y;
  }
};

struct Variant {
  Shape shape;
  Shares shares;
  ActivationKind activation = ActivationKind::identity();
  Residual residual = Residual::none;
};

OpCase split_case(const Variant& v) {
  const auto vector = [&](const char* name, double low, double high, OpInput::Role role) {
    return OpInput{.name = name,
                   .shape = Shape{v.shape[-1]},
                   .low = low,
                   .high = high,
                   .role = role,
                   .full_precision = true};
  };
  OpCase op;
  op.name = fmt::format("batch_norm {} on ranks with {} samples, {} residual {}",
                        v.shape,
                        fmt::join(v.shares, " "),
                        name_of(v.activation),
                        static_cast<int>(v.residual));
  op.inputs = {{.name = "x", .shape = v.shape, .low = -1, .high = 2},
               vector("weight", 0.5, 1.5, OpInput::Role::gradient),
               vector("bias", -0.5, 0.5, OpInput::Role::gradient),
               vector("running_mean", -1, 1, OpInput::Role::state),
               vector("running_var", 0.5, 2, OpInput::Role::state)};
  if (v.residual == Residual::before || v.residual == Residual::after)
    op.inputs.push_back({.name = "residual", .shape = v.shape});
  op.call = [v](Tape& tape, std::span<const Var> in) {
    kernels::BatchNormOperands operands{in[0].value(), in[1].value(), in[2].value(), {}};
    std::vector<Var> inputs{in[0], in[1], in[2]};
    if (v.residual != Residual::none) {
      inputs.push_back(v.residual == Residual::self ? in[0] : in[5]);
      operands.residual = inputs.back().value();
    }
    SplitNode node(
        std::move(operands),
        {.activation = v.activation, .residual_before_activation = v.residual == Residual::before},
        v.shares);
    const Tensor y = node.forward(tape, in[3].value(), in[4].value());
    return tape.record(std::move(inputs), y, std::move(node));
  };
  op.reduction = v.shape.elements() / v.shape[-1];
  // Plain batch norm has the same units: xhat and the two means of the gradient are rounded one
  // after the other. Rounding the exchanged values to f32 adds less than the sums do.
  op.units = 8;
  op.inner_kinks = has_kinks(v.activation);
  return op;
}

/// The exchange of a rank that is alone.
class OneRank final : public RankGather {
 public:
  [[nodiscard]] int ranks() const override { return 1; }
  [[nodiscard]] int rank() const override { return 0; }
  void gather(Context& ctx, const Tensor& mine, Tensor& all) override {
    Tensor first = all.view(mine.shape());
    copy(ctx, mine, first);
  }
};

/// The exchange with a second rank, which has ten rows of zeros and gradients of zero.
class OneOfTwo final : public RankGather {
 public:
  [[nodiscard]] int ranks() const override { return 2; }
  [[nodiscard]] int rank() const override { return 0; }
  void gather(Context& ctx, const Tensor& mine, Tensor& all) override {
    ++gathers;
    const std::int64_t n = mine.elements();
    kernels::fill(ctx, all, 0);
    Tensor first = all.range(0, n);
    copy(ctx, mine, first);
    Tensor rows = all.range(2 * n - 1, 1);
    if (n % 2 == 1) kernels::fill(ctx, rows, 10);
  }
  int gathers = 0;
};

/// The operation itself on a tape whose ranks are one.
OpCase alone_case(const Variant& v) {
  OpCase op = split_case(v);
  op.name += " by the operation";
  op.call = [v](Tape& tape, std::span<const Var> in) {
    static OneRank alone;
    tape.set_rank_gather(&alone);
    const Var residual = v.residual == Residual::none   ? Var{}
                         : v.residual == Residual::self ? in[0]
                                                        : in[5];
    return ops::batch_norm(
        in[0],
        in[1],
        in[2],
        in[3].value(),
        in[4].value(),
        residual,
        {.activation = v.activation, .residual_before_activation = v.residual == Residual::before},
        tape.mode());
  };
  return op;
}

}  // namespace

TEST_CASE("batch norm over ranks: every activation and place of the residual") {
  for (const NamedActivation& act : kActivations)
    for (const Residual residual :
         {Residual::none, Residual::before, Residual::after, Residual::self}) {
      test::test_op(split_case({{4, 2, 3, 4}, {1, 3}, act.kind, residual}));
      if (test::testing_cuda())  // kernels with packs of eight halves
        test::test_op(split_case({{3, 2, 2, 8}, {2, 1}, act.kind, residual}));
    }
}

// One of the two gradients is added to what the other norm has written, the other overwrites.
TEST_CASE("batch norm over ranks: two that share their weights, or their biases") {
  for (const std::size_t shared : {1U, 2U}) {
    OpCase op = alone_case({{3, 2, 3, 4}, {3}, ActivationKind::silu()});
    op.name += fmt::format(" shared {}", op.inputs[shared].name);
    op.inputs.push_back(op.inputs[3 - shared]);
    op.inputs.back().name += " of the second";
    op.call = [shared, call = op.call](Tape& tape, std::span<const Var> in) {
      std::vector<Var> second(in.begin(), in.end());
      second[3 - shared] = in[5];
      return ops::add(call(tape, in), call(tape, second));
    };
    test::test_op(op);
  }
}

// With the operation, whose tape has one rank.
TEST_CASE("batch norm over ranks: the operation with every activation and place of the residual") {
  for (const NamedActivation& act : kActivations)
    for (const Residual residual :
         {Residual::none, Residual::before, Residual::after, Residual::self})
      test::test_op(alone_case({{3, 2, 3, 4}, {3}, act.kind, residual}));
}

TEST_CASE("batch norm over ranks: the operation exchanges twice, and only in training") {
  Context ctx(test::fast_context(1));
  for (const ForwardMode mode :
       {ForwardMode::train, ForwardMode::train_unfrozen, ForwardMode::eval})
    for (const bool x_needs_grad : {true, false})
      for (const bool spare : {true, false}) {
        CAPTURE(static_cast<int>(mode));
        CAPTURE(x_needs_grad);
        CAPTURE(spare);
        OneOfTwo ranks;
        Tape tape(ctx, {.mode = mode, .spare = spare});
        tape.set_rank_gather(&ranks);
        CHECK(tape.rank_gather() == &ranks);
        const auto vector = [&](double value) {
          return test::put_full(ctx, {2}, DType::f32, value);
        };
        const Var weight = tape.input(vector(1), true);
        const Var y = ops::batch_norm(
            tape.input(test::put_values(ctx, {3, 2}, {1, 2, 3, 4, 5, 7}), x_needs_grad),
            weight,
            tape.input(vector(0)),
            vector(0),
            vector(1),
            {},
            {},
            mode);
        const int expected = mode == ForwardMode::eval ? 0 : 1;
        CHECK(ranks.gathers == expected);
        tape.backward(ops::sum(y));
        CHECK(ranks.gathers == 2 * expected);
        // Spare rows have no gradients.
        if (spare && mode != ForwardMode::eval)
          CHECK(test::fetch(ctx, tape.grad_of(weight), 0) == 0);
      }
}

TEST_CASE("batch norm over ranks: shares of any size, one of none, and one rank alone") {
  const auto relu = ActivationKind::leaky_relu(0.1F);
  for (const Shares& shares : {Shares{6},
                               Shares{5, 1},
                               Shares{1, 5},
                               Shares{0, 6},
                               Shares{6, 0},
                               Shares{2, 3, 1},
                               Shares{0, 4, 2},
                               Shares{3, 0, 3},
                               Shares{1, 5, 0},
                               Shares{1, 1, 1, 1, 1, 1}})
    for (const std::int64_t channels : {1, 5, 64})
      test::test_op(split_case({{6, channels}, shares, relu, Residual::before}));
}

TEST_CASE("batch norm over ranks: a large tensor in many chunks") {
  test::test_large_op(
      split_case({{9, 32, 32, 24}, {4, 0, 5}, ActivationKind::relu(), Residual::before}));
  // On a device: several blocks of rows, and of channels.
  test::test_large_op(split_case({{139, 264}, {70, 69}, ActivationKind::gelu(), Residual::after}));
}

TEST_CASE("batch norm over ranks: means a thousand deviations away cost few digits") {
  CAPTURE(test::test_seed());
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    CAPTURE(reference);
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(2));
    const std::int64_t rows = test::sized(512, 64);
    Tensor x = uniform(test::host_values(), {rows, 3}, DType::f32, 999, 1001, test::test_seed());
    for (std::int64_t i = 0; i < 3; ++i) set(x, i, 1100);  // the origin of the first rank
    Tensor device_x = test::put(ctx, x);
    const std::int64_t ranks = 4;
    const Tensor moments = ctx.empty({ranks, 7}, DType::f32);
    for (std::int64_t r = 0; r < ranks; ++r) {
      Tensor own = moments.range(7 * r, 7);
      kernels::batch_norm_moments(ctx, device_x.rows(r * rows / ranks, rows / ranks), own);
    }
    Tensor mean = test::put_full(ctx, {3}, DType::f32, 0);
    Tensor var = test::put_full(ctx, {3}, DType::f32, 0);
    kernels::BatchNormStatistics statistics{ctx.empty({3}, DType::f32), ctx.empty({3}, DType::f32)};
    Tensor count = ctx.empty({1}, DType::f32);
    Tensor y = ctx.empty(x.shape(), DType::f32);
    kernels::batch_norm_train_joined(ctx,
                                     {.x = device_x,
                                      .weight = test::put_full(ctx, {3}, DType::f32, 1),
                                      .bias = test::put_full(ctx, {3}, DType::f32, 0)},
                                     moments,
                                     true,
                                     mean,
                                     var,
                                     {.momentum = 1},
                                     y,
                                     statistics,
                                     count);
    CHECK(test::fetch(ctx, count, 0) == static_cast<double>(rows));
    for (std::int64_t c = 0; c < 3; ++c) {
      double expected = 0;
      for (std::int64_t i = 0; i < rows; ++i) expected += get(x, 3 * i + c);
      expected /= static_cast<double>(rows);
      double squares = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const double off = get(x, 3 * i + c) - expected;
        squares += off * off;
      }
      CAPTURE(c);
      // The means travel in f32: each is half a unit in the last place of 1000 off, 3e-5, which
      // changes the sum of squares by less than 1e-4 of its value.
      CHECK(test::fetch(ctx, mean, c) == doctest::Approx(expected).epsilon(1e-7));
      CHECK(test::fetch(ctx, var, c) ==
            doctest::Approx(squares / static_cast<double>(rows - 1)).epsilon(1e-4));
    }
  }
}

TEST_CASE("batch norm over ranks: moments of a rank without rows do not matter") {
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    CAPTURE(reference);
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(1));
    // Two channels on three ranks: means, squared deviations, rows.
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor moments =
        test::put_values(ctx, {3, 5}, {NAN, inf, NAN, 7, 0, 1, 2, 8, 2, 3, inf, NAN, -inf, NAN, 0});
    Tensor mean = test::put_full(ctx, {2}, DType::f32, 0);
    Tensor var = test::put_full(ctx, {2}, DType::f32, 0);
    kernels::BatchNormStatistics statistics{ctx.empty({2}, DType::f32), ctx.empty({2}, DType::f32)};
    Tensor count = ctx.empty({1}, DType::f32);
    Tensor y = ctx.empty({1, 2}, DType::f32);
    const Tensor vector = test::put_full(ctx, {2}, DType::f32, 1);
    // The rank's own row is not counted, but normalized.
    kernels::batch_norm_train_joined(
        ctx,
        {.x = test::put_values(ctx, {1, 2}, {5, 6}), .weight = vector, .bias = vector},
        moments,
        false,  // three in all
        mean,
        var,
        {.eps = 0, .momentum = 1},
        y,
        statistics,
        count);
    CHECK(test::fetch(ctx, count, 0) == 3);
    CHECK(test::fetch(ctx, mean, 0) == 1);
    CHECK(test::fetch(ctx, mean, 1) == 2);
    CHECK(test::fetch(ctx, var, 0) == 4);  // 8 / (3 - 1)
    CHECK(test::fetch(ctx, var, 1) == 1);
    CHECK(test::fetch(ctx, y, 0) == doctest::Approx(1 + 4 / std::sqrt(8.0 / 3)));
    CHECK(test::fetch(ctx, y, 1) == doctest::Approx(1 + 4 / std::sqrt(2.0 / 3)));
  }
}

TEST_CASE("batch norm over ranks: operands that do not fit are named with both values") {
  Context ctx(test::fast_context(1));
  const auto make = [&](const Shape& shape, DType dtype = DType::f32) {
    return test::put_full(ctx, shape, dtype, 0);
  };
  const kernels::BatchNormOperands in{make({1, 3}), make({3}), make({3}), {}};
  const auto moments = [&](const Tensor& x, Tensor out) {
    kernels::batch_norm_moments(ctx, x, out);
  };
  CHECK_THROWS_WITH_AS(moments(make({3}), make({7})), doctest::Contains("not (3)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      moments(make({0, 4, 3}), make({7})), doctest::Contains("(0,4,3) has no rows"), ShapeError);
  CHECK_THROWS_WITH_AS(
      moments(in.x, make({6})), doctest::Contains("moments must be (7), not (6)"), ShapeError);
  CHECK_THROWS_WITH_AS(moments(in.x, make({7}, DType::f16)),
                       doctest::Contains("moments must be f32 for f32 x, not f16"),
                       DTypeError);
  kernels::BatchNormStatistics statistics{make({3}), make({3})};
  Tensor mean = make({3});
  Tensor var = make({3});
  Tensor y = make({1, 3});
  const auto train = [&](const Tensor& all, Tensor rows, bool suffices = true) {
    kernels::batch_norm_train_joined(ctx, in, all, suffices, mean, var, {}, y, statistics, rows);
  };
  CHECK_THROWS_WITH_AS(train(make({7}), make({1})),
                       doctest::Contains("moments must be (R,2C+1), not (7)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(train(make({2, 6}), make({1})),
                       doctest::Contains("moments must be (2,7), not (2,6)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      train(make({2, 7}), make({2})), doctest::Contains("rows must be (1), not (2)"), ShapeError);
  Tensor alone = make({7});
  kernels::batch_norm_moments(ctx, in.x, alone);
  CHECK_THROWS_WITH_AS(train(alone.view({1, 7}), make({1}), false),
                       doctest::Contains("but 1 ranks have 1 in all"),
                       Error);
  CHECK_THROWS_WITH_AS(
      train(make({2, 7}), make({1}), false), doctest::Contains("but 2 ranks have 0 in all"), Error);
  const auto sums = [&](const Tensor& dy, Tensor out) {
    kernels::batch_norm_gradient_sums(ctx, in, statistics, {}, dy, out);
  };
  CHECK_THROWS_WITH_AS(sums(make({2, 3}), make({6})), doctest::Contains("dy"), ShapeError);
  CHECK_THROWS_WITH_AS(
      sums(in.x, make({7})), doctest::Contains("sums must be (6), not (7)"), ShapeError);
  const auto backward = [&](const Tensor& own, const Tensor& all, const Tensor& rows) {
    kernels::BatchNormGradients out{{make({1, 3})}, {}, {}, {}};
    kernels::batch_norm_backward_joined(
        ctx, in, statistics, {own, all, rows, true}, {}, make({1, 3}), out);
  };
  CHECK_THROWS_WITH_AS(backward(make({6}), make({6}), make({1})),
                       doctest::Contains("all sums must be (R,2C), not (6)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(backward(make({6}), make({2, 7}), make({1})),
                       doctest::Contains("all sums must be (2,6), not (2,7)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(backward(make({3}), make({2, 6}), make({1})),
                       doctest::Contains("own sums must be (6), not (3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(backward(make({6}), make({2, 6}), make({2})),
                       doctest::Contains("rows must be (1), not (2)"),
                       ShapeError);
}
