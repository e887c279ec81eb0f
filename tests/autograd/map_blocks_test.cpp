#include "framework/kernels/map/map.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

using namespace learn;
using expr::arg;
using kernels::MapResult;
using learn::test::put_full;
using learn::test::put_uniform;

namespace {

/// Returns the first element that is not `expected(i)`, or -1.
template <class F>
std::int64_t first_wrong(const Tensor& host, F expected) {
  for (std::int64_t i = 0; i < host.elements(); ++i)
    if (get(host, i) != expected(i)) return i;
  return -1;
}

/// Small whole numbers, which every dtype holds.
Tensor numbers(Context& ctx, const Shape& shape, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(static_cast<double>(i * 7 % 97));
  return test::put_values(ctx, shape, values, dtype);
}

}  // namespace

TEST_CASE("map: an operand that repeats is right in every block") {
  Context ctx(test::fast_context(2));
  const std::int64_t rows = test::sized(9000, 70);
  struct Case {
    Shape whole, part;
  };
  for (const auto& [whole, part] : {Case{{rows, 7}, {7}},
                                    Case{{rows, 64}, {64}},
                                    Case{{rows, 3}, {1, 1}},
                                    Case{{3, rows}, {rows}},
                                    Case{{rows, 5}, {rows, 1}},
                                    Case{{2, 3, 130}, {3, 1}},
                                    Case{{1}, {}}})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i64, DType::u8}) {
      CAPTURE(whole);
      CAPTURE(part);
      CAPTURE(dtype);
      const Tensor x = put_uniform(ctx, whole, DType::f32, -1, 1, 1);
      const Tensor c = numbers(ctx, part, dtype);
      const Tensor y = put_full(ctx, whole, DType::f32, 0);
      kernels::map(ctx, kernels::compile(arg(1) - arg(0)), std::array{x, c}, y);
      const Tensor x0 = to_host(ctx, x);
      const Tensor c0 = to_host(ctx, c);
      const std::int64_t inner = part.rank() > 0 && part[-1] == 1 ? whole[-1] : 1;
      CHECK(first_wrong(to_host(ctx, y), [&](std::int64_t i) {
              return static_cast<float>(get(c0, i / inner % c0.elements()) - get(x0, i));
            }) == -1);
    }
}

TEST_CASE("map: results that share values, repeat one another, or copy an operand") {
  Context ctx(test::fast_context(2));
  const std::int64_t n = test::sized(40001, 601);
  const Tensor x = put_uniform(ctx, {n}, DType::f32, -1, 1, 1);
  const Tensor bias = put_full(ctx, {1}, DType::f32, 5);
  const Expr twice = arg(0) * 2;
  const std::vector<Expr> outputs{twice, twice - arg(0), arg(0), 3, twice, arg(1), -twice};
  std::vector<MapResult> results;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    results.push_back({put_full(ctx, {n}, DType::f32, 8)});
  results.back() = {put_full(ctx, {n}, DType::f32, 8), GradMode::accumulate};
  kernels::map(ctx, kernels::compile(outputs), std::array{x, bias}, results);
  const Tensor x0 = to_host(ctx, x);
  const std::array<double, 7> factor{2, 1, 1, 0, 2, 0, -2};
  const std::array<double, 7> added{0, 0, 0, 3, 0, 5, 8};
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    CAPTURE(k);
    CHECK(first_wrong(to_host(ctx, results[k].tensor), [&](std::int64_t i) {
            return static_cast<float>(factor[k] * get(x0, i) + added[k]);
          }) == -1);
  }
}

TEST_CASE("map: a result may overwrite an operand that is read after another result is known") {
  Context ctx(test::fast_context(2));
  const std::int64_t n = test::sized(40001, 601);
  const Tensor a = put_uniform(ctx, {n}, DType::f32, -1, 1, 1);
  const Tensor b = put_uniform(ctx, {n}, DType::f32, -1, 1, 2);
  const Tensor a0 = to_host(ctx, a);
  const Tensor b0 = to_host(ctx, b);
  std::vector<MapResult> results{{b}, {put_full(ctx, {n}, DType::f32, 0)}};
  kernels::map(
      ctx, kernels::compile(std::vector<Expr>{-arg(0), arg(1) * 4}), std::array{a, b}, results);
  CHECK(first_wrong(to_host(ctx, b), [&](std::int64_t i) { return -get(a0, i); }) == -1);
  CHECK(first_wrong(to_host(ctx, results[1].tensor),
                    [&](std::int64_t i) { return 4 * get(b0, i); }) == -1);
}

TEST_CASE("map: a comparison may choose, be a result, and be computed with") {
  Context ctx(test::fast_context(2));
  const std::int64_t n = test::sized(40001, 601);
  const Tensor a = numbers(ctx, {n}, DType::f32);
  const Tensor b = put_full(ctx, {1}, DType::f32, 48);
  const Expr x = arg(0);
  const Expr y = arg(1);
  const std::vector<Expr> outputs{select(x < y, x, y),
                                  select(x <= y, x * 2, x + 7),
                                  select(x == y, 1, x),
                                  x < y,
                                  select(y < x, y < x, 9),
                                  select(x <= 5, 3, y) + (x <= 5)};
  std::vector<MapResult> results;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    results.push_back({put_full(ctx, {n}, DType::f32, 8)});
  kernels::map(ctx, kernels::compile(outputs), std::array{a, b}, results);
  const Tensor a0 = to_host(ctx, a);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto expected = [&](std::int64_t i) {
      const double v = get(a0, i);
      const std::array<double, 6> all{std::min(v, 48.0),
                                      v <= 48 ? v * 2 : v + 7,
                                      v == 48 ? 1 : v,
                                      v < 48 ? 1.0 : 0.0,
                                      v > 48 ? 1.0 : 9.0,
                                      v <= 5 ? 4.0 : 48.0};
      return all.at(k);
    };
    CAPTURE(k);
    CHECK(first_wrong(to_host(ctx, results[k].tensor), expected) == -1);
    // Alone it has the same values.
    const Tensor alone = put_full(ctx, {n}, DType::f32, 8);
    kernels::map(ctx, kernels::compile(outputs[k]), std::array{a, b}, alone);
    CHECK(first_wrong(to_host(ctx, alone), expected) == -1);
  }
}

TEST_CASE("permute: every order of four dimensions") {
  Context ctx(test::fast_context(2));
  for (const Shape& shape : {Shape{3, 5, 17, 66}, Shape{2, 70, 1, 31}, Shape{1, 130, 3, 16}})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (test::testing_cuda() && dtype == DType::bf16) continue;
      const Tensor x = numbers(ctx, shape, dtype);
      const Tensor x0 = to_host(ctx, x);
      std::array order{0, 1, 2, 3};
      do {
        CAPTURE(shape);
        CAPTURE(order[0] * 1000 + order[1] * 100 + order[2] * 10 + order[3]);
        Shape permuted;
        std::array<std::int64_t, 4> stride{};
        for (std::size_t d = 0; d < 4; ++d) {
          permuted.push_back(shape[order[d]]);
          stride[d] = 1;
          for (int k = order[d] + 1; k < 4; ++k) stride[d] *= shape[k];
        }
        const auto expected = [&](std::int64_t i) {
          std::int64_t at = 0;
          for (int d = 3; d >= 0; --d) {
            at += i % permuted[d] * stride[static_cast<std::size_t>(d)];
            i /= permuted[d];
          }
          return get(x0, at);
        };
        Tensor y = put_full(ctx, permuted, dtype, 1);
        kernels::permute(ctx, x, order, y, GradMode::accumulate);
        CHECK(first_wrong(to_host(ctx, y), [&](std::int64_t i) { return expected(i) + 1; }) == -1);
        kernels::permute(ctx, x, order, y, GradMode::overwrite);
        CHECK(first_wrong(to_host(ctx, y), expected) == -1);
      } while (std::ranges::next_permutation(order).found);
    }
}

TEST_CASE("slice: steps along each dimension, forwards and backwards") {
  Context ctx(test::fast_context(2));
  const Shape shape{5, 9, 33, 4};
  struct Part {
    std::vector<kernels::Slice> slices;
    Shape shape;
  };
  for (const auto& [slices, part] : {Part{{{0, 1}, {0, 1}, {32, -1}, {0, 1}}, shape},
                                     Part{{{0, 1}, {0, 1}, {0, 1}, {0, 1}}, shape},
                                     Part{{{4, -2}, {1, 3}, {2, 5}, {3, -1}}, {3, 3, 7, 4}},
                                     Part{{{2, 1}, {3, 1}, {0, 1}, {0, 1}}, {1, 6, 33, 4}},
                                     Part{{{0, 1}, {8, -8}, {32, -32}, {1, 0}}, {5, 2, 2, 3}},
                                     Part{{{0, 1}, {9, 1}, {0, 1}, {0, 1}}, {5, 0, 33, 4}}})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(part);
      CAPTURE(dtype);
      const Tensor x = numbers(ctx, shape, dtype);
      const Tensor x0 = to_host(ctx, x);
      const auto expected = [&, &slices = slices, &part = part](std::int64_t i) {
        std::int64_t at = 0;
        std::int64_t stride = 1;
        for (int d = 3; d >= 0; --d) {
          const kernels::Slice& slice = slices[static_cast<std::size_t>(d)];
          at += (slice.first + i % part[d] * slice.step) * stride;
          i /= part[d];
          stride *= shape[d];
        }
        return get(x0, at);
      };
      Tensor y = put_full(ctx, part, dtype, 1);
      kernels::slice(ctx, x, slices, y, GradMode::accumulate);
      CHECK(first_wrong(to_host(ctx, y), [&](std::int64_t i) { return expected(i) + 1; }) == -1);
      kernels::slice(ctx, x, slices, y);
      CHECK(first_wrong(to_host(ctx, y), expected) == -1);
    }
}

TEST_CASE("slice: elements that are not there are refused") {
  Context ctx(test::fast_context(1));
  const Tensor x = put_full(ctx, {3, 4}, DType::f32, 1);
  const auto refused = [&](const std::vector<kernels::Slice>& slices, const Shape& shape) {
    Tensor y = put_full(ctx, shape, DType::f32, 0);
    CHECK_THROWS_AS(kernels::slice(ctx, x, slices, y), ShapeError);
  };
  refused({{0, 1}, {1, 1}}, {3, 4});
  refused({{0, 1}, {2, -1}}, {3, 4});
  refused({{-1, 1}, {0, 1}}, {2, 4});
  refused({{0, 2}, {0, 1}}, {3, 4});
  refused({{0, 1}}, {3, 4});
  refused({{0, 1}, {0, 1}}, {12});
}
