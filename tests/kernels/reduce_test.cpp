#include "framework/kernels/reduce/reduce.h"

#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

Tensor classes(Context& ctx, const std::vector<double>& values) {
  return test::put_values(ctx, {static_cast<std::int64_t>(values.size())}, values, DType::i64);
}

using kernels::Counted;

std::int64_t count(Context& ctx,
                   const Tensor& x,
                   const Tensor& target,
                   std::int64_t k,
                   Counted counted = Counted::hits) {
  Tensor out = test::put_full(ctx, {}, DType::i64, 1000);  // it adds
  kernels::count_hits(ctx, x, target, k, counted, out);
  return to_host(ctx, out).data<std::int64_t>()[0] - 1000;
}

}  // namespace

TEST_CASE("argmax and top-k: ties go to the first, NaN is the largest") {
  const std::vector<double> values{
      1, 3, 3, 2, NAN, 5, 1, NAN, -1, -1, -1, -1, -INFINITY, 0, 7, INFINITY};
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      CAPTURE(reference);
      CAPTURE(std::string(name_of(dtype)));
      if (test::testing_cuda() && (reference || dtype == DType::f64)) continue;
      Context ctx(reference ? ContextOptions{.threads = 2, .reference = true}
                            : test::fast_context(2));
      const Tensor x = test::put_values(ctx, {4, 4}, values, dtype);
      Tensor found = ctx.empty({4}, DType::i64);
      kernels::argmax(ctx, x, found);
      const Tensor best = to_host(ctx, found);
      const std::int64_t expected[] = {1, 0, 0, 3};
      for (int i = 0; i < 4; ++i) CHECK(best.data<std::int64_t>()[i] == expected[i]);

      Tensor top_values = ctx.empty({4, 3}, dtype);
      Tensor top_places = ctx.empty({4, 3}, DType::i64);
      kernels::top_k(ctx, x, top_values, top_places);
      const Tensor top = to_host(ctx, top_values);
      const Tensor places = to_host(ctx, top_places);
      const std::int64_t order[] = {1, 2, 3, 0, 3, 1, 0, 1, 2, 3, 2, 1};
      for (int i = 0; i < 12; ++i) CHECK(places.data<std::int64_t>()[i] == order[i]);
      CHECK(get(top, 0) == 3);
      CHECK(std::isnan(get(top, 4)));
      CHECK(get(top, 10) == 7);
    }
}

TEST_CASE("count_hits: accuracy for k = 1, every row for k >= C, monotonous in between") {
  Context fast(test::fast_context(3));
  Context oracle({.threads = 1, .reference = true});
  const std::int64_t rows = test::sized(5000, 150);
  // bf16: ties happen. More columns than a warp has lanes.
  for (const std::int64_t columns : {10, 70}) {
    Arena& host = test::host_values();
    const Tensor x = uniform(host, {rows, columns}, DType::bf16, -1, 1, 11);
    Tensor target(host, {rows}, DType::i64);
    Tensor weights = uniform(host, {rows, columns}, DType::f32, 0, 1, 12);
    for (std::int64_t i = 0; i < rows; ++i) {
      set(target, i, static_cast<double>(i % columns));
      set(weights, i * columns + i % columns, 2);
    }
    const Tensor fast_x = test::put(fast, x);
    const Tensor fast_target = test::put(fast, target);
    const Tensor fast_weights = test::put(fast, weights);
    std::int64_t before = 0;
    for (const std::int64_t k : {1, 2, 3, 9, 10, 12, 69, 70, 71}) {
      CAPTURE(k);
      const std::int64_t hits = count(fast, fast_x, fast_target, k);
      CHECK(hits == count(oracle, x, target, k));
      CHECK(hits == count(fast, fast_x, fast_weights, k));
      CHECK(hits == count(oracle, x, weights, k));
      CHECK(hits == rows - count(fast, fast_x, fast_target, k, Counted::misses));
      CHECK(hits == rows - count(oracle, x, weights, k, Counted::misses));
      CHECK(hits >= before);
      before = hits;
    }
    CHECK(before == rows);
    Tensor found = fast.empty({rows}, DType::i64);
    kernels::argmax(fast, fast_x, found);
    const Tensor best = to_host(fast, found);
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < rows; ++i) right += get(best, i) == get(target, i);
    CHECK(count(fast, fast_x, fast_target, 1) == right);
  }
}

TEST_CASE("count_hits: a NaN is never right, in every type and implementation") {
  const std::vector<double> scores{NAN, 5, 4, NAN, NAN, 1, 2, 7, NAN, INFINITY, -INFINITY, 0};
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      CAPTURE(reference);
      CAPTURE(std::string(name_of(dtype)));
      if (test::testing_cuda() && (reference || dtype == DType::f64)) continue;
      Context ctx(reference ? ContextOptions{.threads = 2, .reference = true}
                            : test::fast_context(2));
      const Tensor x = test::put_values(ctx, {4, 3}, scores, dtype);
      CHECK(count(ctx, x, classes(ctx, {0, 0, 2, 1}), 5) == 1);  // the last row's
      const Tensor target = classes(ctx, {1, 2, 1, 0});
      CHECK(count(ctx, x, target, 1) == 1);  // infinity is largest
      CHECK(count(ctx, x, target, 2) == 3);
      CHECK(count(ctx, x, target, 3) == 4);
      CHECK(count(ctx, x, target, 1, Counted::misses) == 3);
    }
}

TEST_CASE("a class that the logits do not have is named, and the context stays usable") {
  Context ctx(test::fast_context(1));
  const Tensor x = test::put_full(ctx, {3, 3}, DType::f32, 0);
  CHECK_THROWS_WITH_AS((void)count(ctx, x, classes(ctx, {0, 7, 3}), 1),
                       doctest::Contains("row 1 has class 7"),
                       DataError);
  CHECK_THROWS_WITH_AS((void)count(ctx, x, classes(ctx, {0, 1, -1}), 1),
                       doctest::Contains("row 2 has class -1"),
                       DataError);
  CHECK(count(ctx, x, classes(ctx, {0, 1, 0}), 1) == 2);
}

TEST_CASE("ranking: misuse is refused with the reason") {
  Context ctx({.threads = 1});
  const Tensor x = full(ctx.step(), {2, 3}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(
      (void)count(ctx, x, classes(ctx, {0, 3}), 1), doctest::Contains("class 3"), DataError);
  CHECK_THROWS_WITH_AS(
      (void)count(ctx, x, classes(ctx, {0, -1}), 1), doctest::Contains("row 1"), DataError);
  CHECK_THROWS_AS((void)count(ctx, x, classes(ctx, {0}), 1), ShapeError);
  CHECK_THROWS_AS((void)count(ctx, x, classes(ctx, {0, 1}), 0), UsageError);
  Tensor values = ctx.empty({2, 4}, DType::f32);
  Tensor places = ctx.empty({2, 4}, DType::i64);
  CHECK_THROWS_WITH_AS(kernels::top_k(ctx, x, values, places),
                       doctest::Contains("k must be 1 to 3, not 4"),
                       UsageError);
}
