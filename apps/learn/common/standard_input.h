#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace learn::cli {

/// The content of standard input, in an unnamed file that is removed with this object.
class StandardInput {
 public:
  /// Throws UsageError if it is a terminal, IoError if there can be no temporary file.
  StandardInput();
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  /// Reads to the end. Returns a path under which the file can be opened. Throws IoError if it
  /// cannot be read or stored. Throws DataError, without its name, if it is longer than an image
  /// can be (`data::kMaxFileBytes`) or, if it does not start like one, than 1 GiB or half of the
  /// free space.
  [[nodiscard]] std::filesystem::path spooled();

 private:
  std::FILE* file_;
};

}  // namespace learn::cli
