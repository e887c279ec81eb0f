#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Folders with shared libraries of NVIDIA that pip has installed, where the loader does not look:
/// `nvidia/*/lib` of the active virtual environment, of conda's, of each python3 in PATH, and of
/// the user. Reads the environment and folders; does not run Python. Relative paths are ignored,
/// and the whole environment in a program with more rights than its user.
[[nodiscard]] std::vector<std::string> python_library_folders();

/// pip's name of the package with a library of NVIDIA ("cudnn", "nccl", "cublas", "cuda-runtime")
/// for a version of CUDA.
[[nodiscard]] std::string pip_package(std::string_view library, int cuda_major);

/// A shared library that stays loaded, or the reason for its absence.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string obstacle;  ///< where it was looked for, and what to install; empty if it is loaded
};

/// Loads the library `name` from where the loader looks, or else from `path` (may be empty), or
/// else from Python's folders. `package` has it if pip installs it.
[[nodiscard]] OpenedLibrary open_library(const std::string& name,
                                         const std::string& path,
                                         std::string_view package);

}  // namespace learn
