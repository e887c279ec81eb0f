#pragma once
#include "data/files/file_tree.h"
#include "data/sets/registry.h"

namespace learn::data {

/// Loads CIFAR-10 or CIFAR-100 from a tree that holds one of them; `verify` as in CifarOptions.
[[nodiscard]] DataPair load_cifar_files(const FileTree& tree,
                                        bool verify,
                                        const DataOptions& options);

}  // namespace learn::data
