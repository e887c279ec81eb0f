#include "framework/tensor/tensor.h"

#include "framework/tensor/compare.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "framework/tensor/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace learn;

TEST_CASE("views share memory and check their arguments") {
  Arena arena("test", cpu_pages());
  Tensor t = from_values(arena, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(to_string(t) == "f32(2,3) cpu [1, 2, 3, 4, 5, 6]");
  CHECK(get(t.rows(1, 1), 0) == 4);
  CHECK(get(t.range(2, 2).view({2, 1}), 1) == 4);
  CHECK(t.view({6}).same_memory(t));
  CHECK_THROWS_AS((void)t.view({5}), ShapeError);
  CHECK_THROWS_AS((void)t.rows(1, 2), ShapeError);
  CHECK_THROWS_AS((void)t.data<double>(), DTypeError);
}

TEST_CASE("a host tensor of values is a copy, and has as many as its shape") {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor lent = borrowed<float>({2, 3}, values);
  const Tensor copied = host_tensor<float>({2, 3}, values);
  values[0] = 7;
  CHECK(to_string(lent) == "f32(2,3) cpu [7, 2, 3, 4, 5, 6]");
  CHECK(to_string(copied) == "f32(2,3) cpu [1, 2, 3, 4, 5, 6]");
  CHECK(host_tensor<float>({0, 3}, {}).elements() == 0);
  CHECK_THROWS_WITH_AS((void)host_tensor<float>({2, 2}, values),
                       doctest::Contains("6 values for shape (2,2)"),
                       ShapeError);
  CHECK_THROWS_AS((void)borrowed<float>({7}, values), ShapeError);
}

TEST_CASE("all_close names the worst element and does not let NaN or infinity pass") {
  Arena arena("test", cpu_pages());
  const Tensor a = from_values(arena, {3}, std::vector<double>{1, 2, 3});
  CHECK(all_close(a, from_values(arena, {3}, std::vector<double>{1, 2, 3.0001}), 1e-4, 0));
  const Comparison wrong =
      all_close(a, from_values(arena, {3}, std::vector<double>{1, 2.5, 3.1}), 1e-4, 0);
  CHECK_FALSE(wrong);
  CHECK(wrong.text.find("worst at 1") != std::string::npos);
  CHECK_FALSE(all_close(a, from_values(arena, {3}, std::vector<double>{1, NAN, 3}), 1, 1));
  CHECK_FALSE(all_close(from_values(arena, {1}, std::vector<double>{INFINITY}),
                        from_values(arena, {1}, std::vector<double>{1}),
                        1,
                        1));
  CHECK_FALSE(all_close(a, from_values(arena, {1, 3}, std::vector<double>{1, 2, 3}), 1, 1));
}
