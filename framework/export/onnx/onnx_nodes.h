#pragma once
#include "framework/export/graph.h"
#include "framework/export/onnx/onnx.pb.h"

namespace learn::exported {

/// Appends the nodes of an operation, and the constants that they need, to `out`. Throws
/// UsageError for an operation without a form.
void append_nodes(const Graph& graph, const Operation& operation, onnx::GraphProto& out);

/// Appends an initializer of f32.
void append_initializer(const std::string& name, const Weight& weight, onnx::GraphProto& out);

}  // namespace learn::exported
