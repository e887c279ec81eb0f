#include "framework/export/onnx/onnx.h"

#include "framework/io/atomic_file.h"
#include "models/registry.h"
#include "tests/export/exported_model.h"
#include "tests/support/temporary_folder.h"

using namespace learn;

TEST_CASE("an ONNX file says its format, its maker, its metadata, and that the batch is free") {
  Trained trained(models::make_model("linear", {.classes = 7, .input = {4, 5, 3}}));
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "linear.onnx";
  exported::write_onnx(path, trained.graph(), {{"classes", "a\nb"}});
  const onnx::ModelProto model = parsed(read_text_file(path));
  CHECK(model.ir_version() == 8);
  CHECK(model.opset_import(0).version() == 17);
  CHECK(model.producer_name() == "learn");
  CHECK_FALSE(model.producer_version().empty());
  REQUIRE(model.metadata_props_size() == 1);
  CHECK(model.metadata_props(0).key() == "classes");
  CHECK(model.metadata_props(0).value() == "a\nb");
  const auto check_value = [](const onnx::ValueInfoProto& value,
                              const std::string& name,
                              const std::vector<std::int64_t>& sample) {
    CHECK(value.name() == name);
    CHECK(value.type().tensor_type().elem_type() == onnx::TensorProto::FLOAT);
    const onnx::TensorShapeProto& shape = value.type().tensor_type().shape();
    REQUIRE(shape.dim_size() == static_cast<int>(sample.size()) + 1);
    CHECK(shape.dim(0).dim_param() == "batch");
    for (int i = 0; i < static_cast<int>(sample.size()); ++i)
      CHECK(shape.dim(i + 1).dim_value() == sample[static_cast<std::size_t>(i)]);
  };
  check_value(model.graph().input(0), "image", {3, 4, 5});
  check_value(model.graph().output(0), "logits", {7});
  std::vector<std::string> names;
  for (const auto& tensor : model.graph().initializer()) names.push_back(tensor.name());
  CHECK(names == std::vector<std::string>{"layers.1.bias", "layers.1.weight"});
}

TEST_CASE("an operation that ONNX lacks and a file that cannot be written are errors") {
  exported::Graph graph;
  graph.values = {{"image", {3, 2, 2}}, {"logits", {2}}};
  graph.operations.push_back({"negate", "head", {"image"}, "logits", {}});
  CHECK_THROWS_WITH_AS((void)exported::onnx_text(graph),
                       doctest::Contains("'negate' in 'head' cannot be expressed in ONNX"),
                       UsageError);
  graph.operations.front().op = "relu";
  CHECK_THROWS_WITH_AS(exported::write_onnx("/nowhere/at/all.onnx", graph),
                       doctest::Contains("/nowhere/at/all.onnx"),
                       IoError);
}
