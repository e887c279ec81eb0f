// write_zoo FOLDER: every model of the zoo with values of a training, for compare.py: MODEL.onnx,
// MODEL-folded.onnx, MODEL_torch.safetensors with its module, and MODEL.images.safetensors, images
// and our logits of each batch.
#include "framework/export/onnx/onnx.h"
#include "framework/export/passes.h"
#include "framework/export/pytorch.h"
#include "framework/export/trace.h"
#include "framework/io/file_system.h"
#include "framework/tensor/host_tensor.h"
#include "models/registry.h"
#include "tests/export/run_onnx.h"
#include "tests/export/trained_model.h"

#include <cstdio>

namespace {

using namespace learn;

NamedTensor named(const std::string& name, const Numbers& numbers) {
  Shape shape;
  for (const std::int64_t extent : numbers.shape) shape.push_back(extent);
  const std::vector<float> values(numbers.values.begin(), numbers.values.end());
  return {name, host_tensor<float>(shape, values)};
}

void write_model(const std::filesystem::path& folder,
                 const std::string& name,
                 const std::string& spec) {
  Trained trained(models::make_model(spec), {.device = Device::cpu()});
  exported::Graph graph = trained.graph();
  exported::flatten_channels_first(graph);
  exported::write_onnx(folder / (name + ".onnx"), graph);
  exported::write_pytorch(
      folder / (name + "_torch.safetensors"),
      graph,
      {.model = spec, .classes = {"a", "b"}, .mean = {0, 0, 0}, .std = {1, 1, 1}});
  exported::fold_batch_norm(graph);
  exported::write_onnx(folder / (name + "-folded.onnx"), graph);
  exported::write_pytorch(
      folder / (name + "_folded.safetensors"),
      graph,
      {.model = spec, .classes = {"a", "b"}, .mean = {0, 0, 0}, .std = {1, 1, 1}});
  std::vector<NamedTensor> tensors;
  for (const std::int64_t batch : {1, 3, 64}) {
    const Tensor x = trained.images(batch);
    tensors.push_back(named(fmt::format("images_{}", batch), channels_first(x)));
    tensors.push_back({fmt::format("logits_{}", batch), trained.logits(x)});
  }
  write_safetensors(folder / (name + ".images.safetensors"), tensors);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check<UsageError>(argc == 2, "write_zoo FOLDER");
    const std::filesystem::path folder = argv[1];
    make_folders(folder);
    for (const std::string& name : models::model_registry().names())
      write_model(folder, name, name);
    write_model(folder, "darknet-weight_norm", "darknet:weight_norm=true");
    write_model(folder, "mlp-weight_norm", "mlp:weight_norm=true");
  } catch (const Error& e) {
    std::fputs((std::string("error: ") + e.what() + "\n").c_str(), stderr);
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
