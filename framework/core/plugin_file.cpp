#include "framework/core/plugin_file.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// The folder of the program, or of the shared library that this code is a part of.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&plugin_file), &info) == 0) return {};
  // The program's is the word by which it was called; without a folder, it was found in PATH.
  const std::string_view file = info.dli_fname;
  const bool has_folder = file.find('/') != std::string_view::npos;
  std::error_code error;
  return fs::canonical(has_folder ? file : "/proc/self/exe", error).parent_path();
}

}  // namespace

std::string plugin_file(const std::string& name, const std::string& built) {
  const fs::path folder = own_folder();
  const std::array<fs::path, 3> places{folder / name, folder.parent_path() / "lib" / name, built};
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::exists(place, error)) return place.string();
  }
  return name;
}

}  // namespace learn
