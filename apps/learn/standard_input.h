#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace learn::cli {

/// All that comes through standard input, in a file without a name that goes with this object.
class StandardInput {
 public:
  /// Reads to the end. Throws UsageError if it is a terminal, IoError if it cannot be read or kept,
  /// or if it is longer than `limit` bytes.
  explicit StandardInput(std::uint64_t limit);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  /// Under which it can be opened.
  [[nodiscard]] std::filesystem::path path() const;

 private:
  std::FILE* file_;
};

}  // namespace learn::cli
