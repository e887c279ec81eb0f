#include "tests/lab/cuda/fake/fat_binary.h"

#include "tests/lab/cuda/fake/stop.h"

#include <cctype>
#include <cstdint>
#include <cstring>

namespace fakecuda {
namespace {

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const char* data;
};

template <class T>
T read(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

}  // namespace

std::string ptx_of_fat_binary(const void* wrapper) {
  const char* const data = static_cast<const Wrapper*>(wrapper)->data;
  if (read<std::uint32_t>(data) != 0xBA55ED50U) stop("not a fat binary of CUDA 13");
  const char* entry = data + read<std::uint16_t>(data + 6);
  const char* const end = entry + read<std::uint64_t>(data + 8);
  while (entry < end) {
    const auto kind = read<std::uint16_t>(entry);
    const auto header = read<std::uint32_t>(entry + 4);
    const auto bytes = read<std::uint64_t>(entry + 8);
    if (kind == 1) {
      std::string text(entry + header, strnlen(entry + header, bytes));
      const std::size_t first = text.find_first_not_of(" \t\r\n");
      if (first == std::string::npos || (text[first] != '/' && text[first] != '.'))
        stop("the PTX in the fat binary is compressed: compile with --no-compress");
      return text;
    }
    entry += header + bytes;
  }
  stop("no PTX in the fat binary: compile for a virtual architecture too, such as compute_80");
}

}  // namespace fakecuda
