#include "tests/lab/cuda/fake/limits.h"

#include "tests/lab/cuda/fake/stop.h"

#include <charconv>
#include <cstdlib>

namespace fakecuda {
namespace {

std::uint64_t read_instruction_limit() {
  const char* const text = std::getenv("FAKE_CUDA_INSTRUCTIONS");
  if (text == nullptr) return 100'000'000;
  const std::string_view word = text;
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), limit);
  if (error != std::errc{} || end != word.data() + word.size() || limit == 0)
    stop("FAKE_CUDA_INSTRUCTIONS is '{}'; it must be a number above 0", word);
  return limit;
}

}  // namespace

std::uint64_t instruction_limit() {
  static const std::uint64_t limit = read_instruction_limit();
  return limit;
}

}  // namespace fakecuda
