#pragma once
#include "data/files/file_tree.h"
#include "data/sets/registry.h"

namespace learn::data {

/// CIFAR-10 or CIFAR-100, whichever the tree holds, which must be one of them; `verify` as in
/// CifarOptions.
[[nodiscard]] DataPair load_cifar_files(const FileTree& tree,
                                        bool verify,
                                        const DataOptions& options);

}  // namespace learn::data
