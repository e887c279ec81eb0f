#pragma once
#include "framework/export/graph.h"
#include "framework/export/onnx/onnx.pb.h"

namespace learn::exported {

/// Appends the nodes of an operation, and the constants they need, to `out`. Throws UsageError for
/// an operation that has no ONNX form.
void append_nodes(const Graph& graph, const Operation& operation, onnx::GraphProto& out);

/// Appends an f32 initializer.
void append_initializer(const std::string& name, const Weight& weight, onnx::GraphProto& out);

}  // namespace learn::exported
