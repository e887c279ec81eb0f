#pragma once
#include "framework/export/graph.h"
#include "framework/interfaces/target_kind.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::exported {

/// Information in the module beyond its layers.
struct PyTorchNotes {
  std::string model;                 ///< "resnet9:width=16"
  std::vector<std::string> classes;  ///< names of the classes, labels or values
  std::vector<float> mean, std;      ///< of the images in [0, 1]
  std::string weights_file;          ///< name of the weights file, in the folder of the module
  TargetKind targets = TargetKind::classes;
};

/// Returns a Python module with a torch.nn.Module `Model` that computes the graph, `load()`, which
/// reads the weights strictly, and `normalize()`. Layers have the paths of the state dict. Throws
/// UsageError for an operation that has no PyTorch form, and for weight names that cannot occur in
/// nested PyTorch layers.
[[nodiscard]] std::string pytorch_module(const Graph& graph, const PyTorchNotes& notes);

/// Writes the weights to `path`, FILE.safetensors, with PyTorch's names and layouts and a
/// `num_batches_tracked` of 0 for each batch normalization, and the module to FILE.py, each
/// atomically. Sets `notes.weights_file`. Throws IoError too.
void write_pytorch(const std::filesystem::path& path,
                   const Graph& graph,
                   PyTorchNotes notes,
                   Metadata metadata = {});
/// Returns the path of the module, FILE.py.
[[nodiscard]] std::filesystem::path pytorch_module_path(const std::filesystem::path& path);
/// Returns whether the file starts like such a module. Throws IoError.
[[nodiscard]] bool is_pytorch_module(const std::filesystem::path& path);

/// The `learn.kind` in the metadata of such weights. `load_weights` rejects them because the
/// columns of linear layers may be in another order.
inline constexpr std::string_view kPyTorchKind = "pytorch";

}  // namespace learn::exported
