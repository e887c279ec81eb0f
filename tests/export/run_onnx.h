#pragma once
#include "framework/export/onnx/onnx.pb.h"
#include "framework/tensor/tensor.h"

#include <string>
#include <vector>

/// A tensor of f64 for `run_onnx`.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Runs the model on images (N,C,H,W): ONNX's operators as documented, one plain loop each, in f64.
/// Throws std::runtime_error for one that it does not know.
[[nodiscard]] Numbers run_onnx(const learn::onnx::ModelProto& model, const Numbers& image);

/// Images (N,H,W,C) as (N,C,H,W).
[[nodiscard]] Numbers channels_first(const learn::Tensor& images);
