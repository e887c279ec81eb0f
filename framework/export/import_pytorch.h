#pragma once
#include "framework/export/name_map.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/module.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::exported {

/// Reads a PyTorch state dict, a .safetensors file of any floating dtype, into a model. `names`
/// maps the names of its tensors; layouts are PyTorch's. The columns of linear layers that flatten
/// images are reordered from channels-first to the order used here. `classes` are the names of the
/// model's outputs: if the file names its classes, as a file written by `learn export` does, rows
/// of the last layer are matched by name. Otherwise works as `load_weights` does, but rejects
/// non-finite values and negative variances. Throws CheckpointError as `load_weights` does, and for
/// two tensors of one name.
WeightsReport import_pytorch(const std::filesystem::path& path,
                             nn::Module& model,
                             nn::ParamStore& store,
                             const Shape& sample,
                             const NameMap& names = {},
                             WeightsMatch match = WeightsMatch::strict,
                             const std::vector<std::string>& classes = {});

}  // namespace learn::exported
