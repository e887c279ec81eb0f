#include "framework/runtime/library_search.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// Null in a program with more privileges than its user, because the user must not choose its
/// libraries.
std::string variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr ? value : "";
}

void add_new(std::vector<fs::path>& to, const fs::path& path) {
  if (path.is_absolute() && std::find(to.begin(), to.end(), path) == to.end()) to.push_back(path);
}

/// Folders in which Python is installed.
std::vector<fs::path> prefixes() {
  std::vector<fs::path> found;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) add_new(found, variable(name));
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    std::error_code error;
    if (fs::exists(folder / "python3", error)) {
      add_new(found, folder.parent_path());
      add_new(found, folder.parent_path() / "local");  // Debian's pip, as root
    }
    begin = end + 1;
  }
  if (const std::string home = variable("HOME"); !home.empty())
    add_new(found, fs::path(home) / ".local");
  return found;
}

/// The folders in `parent` whose names start with it: python3.12 before python3.9.
std::vector<fs::path> children(const fs::path& parent, std::string_view begins) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().substr(0, begins.size()) == begins)
      found.push_back(at->path());
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

}  // namespace

std::vector<std::string> python_library_folders() {
  std::vector<std::string> found;
  for (const fs::path& prefix : prefixes())
    for (const fs::path& python : children(prefix / "lib", "python3"))
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : children(python / packages / "nvidia", "")) {
          std::error_code error;
          if (fs::is_directory(package / "lib", error)) found.push_back((package / "lib").string());
        }
  return found;
}

std::string pip_package(std::string_view library, int cuda_major) {
  const bool numbered = cuda_major < 13 || library == "cudnn" || library == "nccl";
  return fmt::format("nvidia-{}{}", library, numbered ? fmt::format("-cu{}", cuda_major) : "");
}

OpenedLibrary open_library(const std::string& name,
                           const std::string& path,
                           std::string_view package) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, ""};
  std::string reason = dlerror();
  if (!path.empty()) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, ""};
  const std::vector<std::string> folders = python_library_folders();
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + name;
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return {handle, ""};
    reason = dlerror();
  }
  return {nullptr,
          fmt::format("{}; {}: install it (pip install {}) or add its folder to LD_LIBRARY_PATH",
                      reason,
                      folders.empty() ? "Python's folders do not contain NVIDIA's libraries either"
                                      : fmt::format("also searched Python's folders: {}",
                                                    fmt::join(folders, ", ")),
                      package)};
}

}  // namespace learn
