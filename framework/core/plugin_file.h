#pragma once
#include <string>

namespace learn {

/// The file of a shared library that belongs to this build: in the folder of the program, or of the
/// shared library that contains this code; in the `lib` folder next to that; or `built`, its path
/// in the build folder, which may be empty. Returns the name alone if none of them exists, so that
/// the loader searches its own path. An existing file is never skipped for one of another build.
[[nodiscard]] std::string plugin_file(const std::string& name, const std::string& built);

}  // namespace learn
