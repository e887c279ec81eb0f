#pragma once
#include "framework/export/onnx/onnx.h"
#include "framework/export/passes.h"
#include "tests/export/run_onnx.h"
#include "tests/export/trained_model.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

[[nodiscard]] inline learn::onnx::ModelProto parsed(const std::string& bytes) {
  learn::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes));
  return model;
}

/// The largest difference of two results, over the largest value. `wanted` has the logits of ours.
[[nodiscard]] inline double difference(const Numbers& result, const learn::Tensor& wanted) {
  const auto expected = wanted.span<float>();
  REQUIRE(result.values.size() == expected.size());
  REQUIRE(result.shape == std::vector<std::int64_t>{wanted.shape()[0], wanted.shape()[1]});
  double worst = 0;
  double top = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst =
        learn::test::worse(worst, std::abs(result.values[i] - static_cast<double>(expected[i])));
    top = std::max(top, std::abs(static_cast<double>(expected[i])));
  }
  REQUIRE(top > 0);
  return worst / top;
}

/// Ours computes in f32, and `run_onnx` in f64: a hundred roundings.
inline constexpr double kRounding = 1e-5;
