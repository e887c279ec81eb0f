#pragma once
#include "framework/export/name_map.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/module.h"

#include <filesystem>

namespace learn::exported {

/// Reads a state dict of PyTorch, a .safetensors file of any floating dtype, into a model: by the
/// names that `names` gives its tensors, in PyTorch's layouts, and with the columns of linear
/// layers that flatten images from channels-first order to ours. Its `num_batches_tracked` are
/// nothing we have. Everything is compared before anything is written; values that are not finite
/// are loaded, with a warning. Throws CheckpointError that lists what is missing, unexpected or of
/// another shape; in `partial` mode if nothing at all fits; and for two tensors of one name.
WeightsReport import_pytorch(const std::filesystem::path& path,
                             nn::Module& model,
                             nn::ParamStore& store,
                             const Shape& sample,
                             const NameMap& names = {},
                             WeightsMatch match = WeightsMatch::strict);

}  // namespace learn::exported
