#pragma once
#include "framework/export/name_map.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/module.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::exported {

/// Reads a state dict of PyTorch, a .safetensors file of any floating dtype, into a model: by the
/// names that `names` gives its tensors, in PyTorch's layouts, and with the columns of linear
/// layers that flatten images from channels-first order to ours. Otherwise as `load_weights`, but
/// values that are not finite and variances below 0 are refused. `classes` are the names of the
/// model's outputs: where the file names its own, as one that `learn export` wrote does, rows of
/// the last layer are taken by name. Throws CheckpointError as `load_weights`, and for two tensors
/// of one name.
WeightsReport import_pytorch(const std::filesystem::path& path,
                             nn::Module& model,
                             nn::ParamStore& store,
                             const Shape& sample,
                             const NameMap& names = {},
                             WeightsMatch match = WeightsMatch::strict,
                             const std::vector<std::string>& classes = {});

}  // namespace learn::exported
