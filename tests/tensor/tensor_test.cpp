#include "framework/tensor/tensor.h"

#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "framework/tensor/print.h"
#include "tests/support/compare.h"
#include "tests/support/other_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
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
  CHECK_THROWS_WITH_AS(
      (void)t.range(4, 3), doctest::Contains("range: 3 elements from 4 on exceed 6"), ShapeError);
  CHECK_THROWS_AS((void)t.data<double>(), DTypeError);
  CHECK_THROWS_AS((void)t.data<std::int32_t>(), DTypeError);
  CHECK_NOTHROW(Tensor(t.storage(), 8, {4}, DType::f32));
  CHECK_THROWS_AS(Tensor(t.storage(), 12, {4}, DType::f32), ShapeError);
  CHECK(to_string(t, 2) == "f32(2,3) cpu [1, 2, ...]");
}

TEST_CASE("a shape that no tensor can have is refused wherever a tensor is made") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62U;
  constexpr std::int64_t kWide = std::int64_t{1} << 32U;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Arena arena("test", cpu_pages());
  Tensor t = from_values(arena, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto refused = [&](const Shape& shape, const std::string& why) {
    CAPTURE(shape);
    const std::vector<std::function<void()>> ways{
        [&] { (void)Tensor(arena, shape, DType::f32); },
        [&] { (void)Tensor(t.storage(), 0, shape, DType::f32); },
        [&] { (void)t.view(shape); },
        [&] { (void)host_tensor(shape, DType::f32); },
        [&] { (void)borrowed<float>(shape, {}); },
        [&] { (void)host_tensor<float>(shape, values); },
        [&] { (void)full(arena, shape, DType::f32, 1); },
        [&] { (void)zeros(arena, shape); },
        [&] { (void)from_values(arena, shape, {}); },
        [&] { (void)uniform(arena, shape, DType::f32, 0, 1, 1); }};
    for (const auto& way : ways)
      CHECK_THROWS_WITH_AS(way(), doctest::Contains(why.c_str()), ShapeError);
  };
  refused({-1}, "shape (-1) has the negative extent -1");
  refused({2, -3}, "has the negative extent -3");
  refused({-2, -3}, "has the negative extent -2");  // as many as t has
  refused({0, -1}, "has the negative extent -1");
  for (const Shape& shape :
       {Shape{kHuge}, {kHuge, 4}, {kWide, kWide}, {kWide, kWide, 4}, {0, kWide, kWide}, {kMost}})
    refused(shape, "needs more bytes than the address space has");
  CHECK(arena.stats().blocks == 1);
#ifndef __SANITIZE_ADDRESS__  // which ends the program where malloc returns null
  CHECK_THROWS_AS((void)Tensor(arena, {kHuge}, DType::u8), OutOfMemoryError);
  CHECK_THROWS_AS((void)host_tensor({kHuge}, DType::u8), OutOfMemoryError);
#endif
  CHECK(Tensor(arena, {kWide, 0}, DType::f32).bytes() == 0);

  // Places whose sums overflow.
  CHECK_THROWS_WITH_AS((void)t.rows(kMost, 1),
                       doctest::Contains("rows: 1 rows from 9223372036854775807 on exceed (2,3)"),
                       ShapeError);
  CHECK_THROWS_AS((void)t.rows(1, kMost), ShapeError);
  CHECK_THROWS_AS((void)t.range(kMost, 1), ShapeError);
  CHECK_THROWS_AS((void)t.range(1, kMost), ShapeError);
  CHECK_THROWS_AS((void)Tensor(t.storage(), ~std::size_t{0} - 3, {1}, DType::f32), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)get(t, 6), doctest::Contains("element 6 of a tensor (2,3), which has 6"), ShapeError);
  CHECK_THROWS_AS((void)get(t, -1), ShapeError);
  CHECK_THROWS_AS(set(t, kMost, 0), ShapeError);
}

TEST_CASE("a shape does not drop dimensions") {
  Shape shape{1, 2, 3, 4, 5, 6};
  CHECK(shape.rank() == Shape::kMaxRank);
  constexpr const char* kText = "a shape has at most 6 dimensions: cannot add 7 to (1,2,3,4,5,6)";
  CHECK_THROWS_WITH_AS(shape.push_back(7), kText, ShapeError);
  CHECK_THROWS_WITH_AS((Shape{1, 2, 3, 4, 5, 6, 7}), kText, ShapeError);
}

TEST_CASE("an undefined tensor has nothing to read") {
  Tensor none;
  const auto undefined = doctest::Contains("tensor: it is undefined and has no elements");
  CHECK_THROWS_WITH_AS((void)none.span<float>(), undefined, ShapeError);
  CHECK_THROWS_WITH_AS((void)std::as_const(none).span<float>(), undefined, ShapeError);
  CHECK_THROWS_WITH_AS((void)none.item<float>(), undefined, ShapeError);
  CHECK_THROWS_WITH_AS((void)get(none, 0), undefined, ShapeError);
  CHECK(borrowed<float>({0}, {}).span<float>().empty());
}

TEST_CASE("a tensor of another device is not read as if it were the host's") {
  const Tensor elsewhere = test::on_other_device({2});
  CHECK_THROWS_WITH_AS((void)elsewhere.span<float>(),
                       doctest::Contains("tensor is on cuda:1: copy it to the host to read it"),
                       DeviceError);
  float value = 0;
  CHECK_THROWS_WITH_AS(elsewhere.storage().read(&value, 0, sizeof(value)),
                       doctest::Contains("the host cannot read this memory of cuda:1"),
                       DeviceError);
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

TEST_CASE("tensors are made of values, one for each element, or of random ones in a range") {
  Arena arena("test", cpu_pages());
  CHECK_THROWS_WITH_AS((void)from_values(arena, {2, 2}, std::vector<double>{1, 2, 3}),
                       doctest::Contains("3 values for shape (2,2)"),
                       ShapeError);
  const Tensor drawn = uniform(arena, {1000}, DType::f32, 3, 5, 7);
  double least = 5, most = 3;
  for (std::int64_t i = 0; i < drawn.elements(); ++i) {
    least = std::min(least, get(drawn, i));
    most = std::max(most, get(drawn, i));
  }
  CHECK(least >= 3);
  CHECK(least < 3.1);
  CHECK(most < 5);
  CHECK(most > 4.9);
}

TEST_CASE("the relative tolerance is relative to the second tensor") {
  Arena arena("test", cpu_pages());
  const auto of = [&](double value) { return from_values(arena, {1}, std::vector{value}); };
  CHECK(all_close(of(1000), of(1009), 0.01, 0));
  CHECK_FALSE(all_close(of(1000), of(1011), 0.01, 0));
  CHECK_FALSE(all_close(of(0.001), of(0.002), 0.01, 0));
  CHECK(all_close(of(0.001), of(0.002), 0, 0.0011));
}

TEST_CASE("equal bits are a different condition from equal values") {
  Arena arena("test", cpu_pages());
  const auto of = [&](double value) { return from_values(arena, {1}, std::vector{value}); };
  CHECK(same_bits(of(NAN), of(NAN)));
  const Comparison zeros = same_bits(of(0), of(-0.0));
  CHECK_FALSE(zeros);
  CHECK(zeros.text == "first difference at 0: 0 against -0");
  CHECK_FALSE(same_bits(of(1), from_values(arena, {1, 1}, std::vector<double>{1})));
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
