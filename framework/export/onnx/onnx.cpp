#include "framework/export/onnx/onnx.h"

#include "framework/core/error.h"
#include "framework/core/version.h"
#include "framework/export/onnx/onnx_nodes.h"
#include "framework/io/atomic_file.h"

#include <limits>
#include <set>

namespace learn::exported {
namespace {

void describe_value(const std::string& name, const Shape& sample, onnx::ValueInfoProto& out) {
  out.set_name(name);
  auto& type = *out.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  for (const std::int64_t extent : sample) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

/// Appends the weights that some node takes under their original names; reshaped weights have other
/// names.
void append_weights(const Graph& graph, onnx::GraphProto& out) {
  std::set<std::string> taken;
  for (const auto& node : out.node()) taken.insert(node.input().begin(), node.input().end());
  for (const auto& [name, weight] : graph.weights)
    if (taken.contains(name)) append_initializer(name, weight, out);
}

}  // namespace

std::string onnx_text(const Graph& graph, const std::map<std::string, std::string>& metadata) {
  onnx::ModelProto model;
  model.set_ir_version(kOnnxFormat);
  model.set_producer_name("learn");
  model.set_producer_version(LEARN_VERSION);
  onnx::OperatorSetIdProto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOnnxOperators);
  onnx::GraphProto& out = *model.mutable_graph();
  out.set_name("learn");
  for (const Operation& operation : graph.operations) append_nodes(graph, operation, out);
  append_weights(graph, out);
  describe_value(graph.input, graph.values.at(graph.input), *out.add_input());
  describe_value(graph.output, graph.values.at(graph.output), *out.add_output());
  for (const auto& [key, value] : metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  constexpr std::size_t kLargest = std::numeric_limits<std::int32_t>::max();
  const std::size_t size = model.ByteSizeLong();
  if (size > kLargest)
    fail<UsageError>(
        "the model has {} bytes, but an ONNX file can have at most {}", size, kLargest);
  return model.SerializeAsString();
}

void write_onnx(const std::filesystem::path& path,
                const Graph& graph,
                const std::map<std::string, std::string>& metadata) {
  write_file_atomically(path, onnx_text(graph, metadata));
}

}  // namespace learn::exported
