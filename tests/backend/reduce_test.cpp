#include "framework/backend/reduce.h"

#include "framework/tensor/compare.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace learn;

namespace {

Tensor classes(Context& ctx, std::initializer_list<double> values) {
  return from_values(ctx.step(),
                     {static_cast<std::int64_t>(values.size())},
                     {values.begin(), values.size()},
                     DType::i64);
}

std::int64_t count(Context& ctx, const Tensor& x, const Tensor& target, std::int64_t k) {
  Tensor out = ctx.empty({}, DType::i64);
  backend::count_top_k(ctx, x, target, k, out);
  return out.data<std::int64_t>()[0];
}

}  // namespace

TEST_CASE("argmax and top-k: ties go to the first, NaN is the largest") {
  const double values[] = {1, 3, 3, 2, NAN, 5, 1, NAN, -1, -1, -1, -1, -INFINITY, 0, 7, INFINITY};
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      CAPTURE(reference);
      CAPTURE(std::string(name_of(dtype)));
      Context ctx({.threads = 2, .reference = reference});
      const Tensor x = from_values(ctx.step(), {4, 4}, values, dtype);
      Tensor best = ctx.empty({4}, DType::i64);
      backend::argmax(ctx, x, best);
      const std::int64_t expected[] = {1, 0, 0, 3};
      for (int i = 0; i < 4; ++i) CHECK(best.data<std::int64_t>()[i] == expected[i]);

      Tensor top = ctx.empty({4, 3}, dtype);
      Tensor places = ctx.empty({4, 3}, DType::i64);
      backend::top_k(ctx, x, top, places);
      const std::int64_t order[] = {1, 2, 3, 0, 3, 1, 0, 1, 2, 3, 2, 1};
      for (int i = 0; i < 12; ++i) CHECK(places.data<std::int64_t>()[i] == order[i]);
      CHECK(get(top, 0) == 3);
      CHECK(std::isnan(get(top, 4)));
      CHECK(get(top, 10) == 7);
    }
}

TEST_CASE("count_top_k: accuracy for k = 1, every row for k >= C, monotonous in between") {
  Context fast({.threads = 3});
  Context oracle({.threads = 1, .reference = true});
  constexpr std::int64_t kRows = 5000;
  const Tensor x = uniform(fast.step(), {kRows, 10}, DType::bf16, -1, 1, 11);  // bf16: ties happen
  Tensor target = fast.empty({kRows}, DType::i64);
  for (std::int64_t i = 0; i < kRows; ++i) set(target, i, static_cast<double>(i % 10));
  std::int64_t before = 0;
  for (std::int64_t k = 1; k <= 12; ++k) {
    CAPTURE(k);
    const std::int64_t hits = count(fast, x, target, k);
    CHECK(hits == count(oracle, x, target, k));
    CHECK(hits >= before);
    before = hits;
  }
  CHECK(before == kRows);
  Tensor best = fast.empty({kRows}, DType::i64);
  backend::argmax(fast, x, best);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < kRows; ++i) right += get(best, i) == get(target, i);
  CHECK(count(fast, x, target, 1) == right);
}

TEST_CASE("ranking: misuse says what is wrong") {
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
  CHECK_THROWS_WITH_AS(
      backend::top_k(ctx, x, values, places), doctest::Contains("k = 4"), UsageError);
}
