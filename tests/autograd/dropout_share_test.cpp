#include "framework/autograd/ops.h"
#include "framework/core/random.h"
#include "framework/interfaces/batch.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace learn;

namespace {

constexpr std::uint64_t kSeed = 42;
constexpr std::uint64_t kBatch = 7;
constexpr double kP = 0.4;

/// Values and gradients of two dropouts, one after the other, of rows of a batch.
struct Dropped {
  std::vector<double> first, second, gradient;
  bool operator==(const Dropped&) const = default;
};

void append(std::vector<double>& values, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(get(tensor, i));
}

/// Appends the results for `rows` of the batch of this shape.
void drop(const ContextOptions& options,
          const Shape& shape,
          DType dtype,
          const RowRange& rows,
          Dropped& out) {
  Context ctx(options);
  Arena memory("batch", cpu_pages());
  const auto share = [&](std::uint64_t stream) {
    // Far from zero, so that a zero is an element that was dropped.
    return uniform(memory, shape, dtype, 1, 2, kSeed, stream).rows(rows.first, rows.count);
  };
  Tape tape(ctx, {.batch = kBatch, .first_row = rows.first});
  const Var x = tape.input(share(1), true);
  const Var y = ops::dropout(x, kP);
  const Var z = ops::dropout(y, kP);
  append(out.first, y.value());
  append(out.second, z.value());
  tape.backward(ops::sum(ops::mul(z, tape.input(share(2)))));
  append(out.gradient, tape.grad_of(x));
}

Dropped whole_batch(const ContextOptions& options, const Shape& shape, DType dtype) {
  Dropped out;
  drop(options, shape, dtype, {.first = 0, .count = shape[0]}, out);
  return out;
}

Dropped joined(const ContextOptions& options, const Shape& shape, DType dtype, int ranks) {
  Dropped out;
  for (int rank = 0; rank < ranks; ++rank) {
    const RowRange rows = Share{rank, ranks}.of(shape[0]);
    if (rows.count > 0) drop(options, shape, dtype, rows, out);
  }
  return out;
}

std::vector<bool> zeros_in(const std::vector<double>& values) {
  std::vector<bool> zeros;
  for (const double value : values) zeros.push_back(value == 0);
  return zeros;
}

const std::vector<Shape> kShapes = {{7, 5}, {13}, {5, 3, 2, 4}, {9, 1, 4099}};

}  // namespace

TEST_CASE("dropout: joined shares have the mask of the whole batch, forward and backward") {
  CAPTURE(kSeed);
  for (const bool reference : {false, true})
    for (const Shape& shape : kShapes)
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        CAPTURE(reference);
        CAPTURE(shape);
        CAPTURE(dtype);
        const ContextOptions options{.threads = 2, .seed = kSeed, .reference = reference};
        const Dropped whole = whole_batch(options, shape, dtype);
        for (const int ranks : {1, 2, 3, 4, 10}) {
          CAPTURE(ranks);
          CHECK(joined(options, shape, dtype, ranks) == whole);
        }
      }
}

TEST_CASE("dropout: a share has the same mask on the CPU and in the reference") {
  CAPTURE(kSeed);
  for (const Shape& shape : kShapes) {
    CAPTURE(shape);
    const Dropped fast = joined({.threads = 2, .seed = kSeed}, shape, DType::f32, 3);
    const Dropped plain =
        joined({.threads = 1, .seed = kSeed, .reference = true}, shape, DType::f32, 3);
    CHECK(zeros_in(fast.first) == zeros_in(plain.first));
    CHECK(zeros_in(fast.second) == zeros_in(plain.second));
    CHECK(zeros_in(fast.gradient) == zeros_in(plain.gradient));
  }
}

TEST_CASE("dropout: the first row counts elements of rows, whatever is dropped before") {
  constexpr std::int64_t kFirstRow = 3;
  constexpr std::int64_t kPerRow = 2 * 4;
  Context ctx({.threads = 1, .seed = kSeed});
  Tape tape(ctx, {.batch = kBatch, .first_row = kFirstRow});
  const Var x = tape.input(full(ctx.step(), {50, 2, 4}, DType::f32, 1));
  for (std::uint64_t stream = 0; stream < 3; ++stream) {
    CAPTURE(stream);
    const Tensor y = ops::dropout(x, kP).value();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto element = static_cast<std::uint64_t>(kFirstRow * kPerRow + i);
      const Random4 r = random4(kSeed, RandomPurpose::dropout, kBatch, (stream << 40U) + element);
      wrong += (get(y, i) == 0) != (static_cast<double>(uniform01(r.v[0])) < kP);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("dropout: a value without rows is dropped alike by all shares") {
  const auto dropped = [](std::int64_t first_row, std::uint64_t batch) {
    Context ctx({.threads = 1, .seed = kSeed});
    Tape tape(ctx, {.batch = batch, .first_row = first_row});
    return get(ops::dropout(tape.input(full(ctx.step(), {}, DType::f32, 1)), 0.5).value(), 0);
  };
  for (std::uint64_t batch = 0; batch < 20; ++batch) CHECK(dropped(3, batch) == dropped(0, batch));
  Context ctx({.threads = 1});
  Tape tape(ctx, {.first_row = 3});
  CHECK(ops::dropout(tape.input(zeros(ctx.step(), {0, 4})), 0.5).shape() == Shape{0, 4});
}

TEST_CASE("dropout: rows beyond the numbers of a mask are usage errors") {
  Context ctx({.threads = 1});
  for (const std::int64_t row : {std::int64_t{-1}, std::int64_t{1} << 39, std::int64_t{1} << 62}) {
    CAPTURE(row);
    Tape tape(ctx, {.first_row = row});
    const Var x = tape.input(full(ctx.step(), {2, 4}, DType::f32, 1));
    CHECK_THROWS_WITH_AS((void)ops::dropout(x, 0.5),
                         doctest::Contains("must be from 0 to 1099511627768 in the mask"),
                         UsageError);
  }
}
