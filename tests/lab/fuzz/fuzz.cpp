#include "tests/lab/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace learn::fuzz {

std::filesystem::path file_of(std::span<const std::uint8_t> bytes) {
  static const int file = ::memfd_create("fuzz input", MFD_CLOEXEC);
  require(file >= 0 && ::ftruncate(file, 0) == 0);
  require(::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace learn::fuzz
