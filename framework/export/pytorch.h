#pragma once
#include "framework/export/graph.h"
#include "framework/interfaces/target_kind.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::exported {

/// What the module says beside its layers.
struct PyTorchNotes {
  std::string model;                 ///< "resnet9:width=16"
  std::vector<std::string> classes;  ///< their names, or those of labels or values
  std::vector<float> mean, std;      ///< of the images in [0, 1]
  std::string weights_file;          ///< name of the weights, in the folder of the module
  TargetKind targets = TargetKind::classes;
};

/// A Python module with a torch.nn.Module `Model` that does what the graph does, `load()`, which
/// reads the weights strictly, and `normalize()`. Layers stand at their paths in the state dict.
/// Throws UsageError for an operation without a form and for weights whose names no nest of
/// PyTorch's layers has.
[[nodiscard]] std::string pytorch_module(const Graph& graph, const PyTorchNotes& notes);

/// Writes the weights to `path`, FILE.safetensors, by PyTorch's names and in its layouts, with a
/// `num_batches_tracked` of 0 for each batch normalisation, and the module to FILE.py, each
/// atomically. `notes.weights_file` is set. Throws IoError too.
void write_pytorch(const std::filesystem::path& path,
                   const Graph& graph,
                   PyTorchNotes notes,
                   Metadata metadata = {});
/// The file of the module, FILE.py.
[[nodiscard]] std::filesystem::path pytorch_module_path(const std::filesystem::path& path);
/// Returns whether the file begins as such a module does. Throws IoError.
[[nodiscard]] bool is_pytorch_module(const std::filesystem::path& path);

/// `learn.kind` of the metadata of such weights. `load_weights` refuses them: the columns of linear
/// layers may have another order.
inline constexpr std::string_view kPyTorchKind = "pytorch";

}  // namespace learn::exported
