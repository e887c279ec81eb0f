#include "tests/lab/cuda/fake/refusal.h"

#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fakecuda {
namespace {

/// Calls of one function since the variable got its value.
struct Seen {
  std::size_t calls = 0;
  std::vector<std::string> kinds;
};

/// Which number this call has: calls of one kind have that of the first of them.
std::size_t number_of(Seen& seen, std::string_view kind) {
  ++seen.calls;
  if (kind.empty()) return seen.calls;
  auto known = std::find(seen.kinds.begin(), seen.kinds.end(), kind);
  if (known == seen.kinds.end()) known = seen.kinds.emplace(known, kind);
  return static_cast<std::size_t>(known - seen.kinds.begin()) + 1;
}

/// "cudaMalloc" is every number of it, "cudaMalloc:3" the third.
bool names(std::string_view word, std::string_view function, std::size_t number) {
  if (!word.starts_with(function)) return false;
  word.remove_prefix(function.size());
  if (word.empty()) return true;
  if (word.front() != ':') return false;  // of a longer name
  word.remove_prefix(1);
  std::size_t wanted = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), wanted);
  if (error != std::errc{} || end != word.data() + word.size() || wanted == 0)
    stop("FAKE_CUDA_REFUSE: '{}' is not the number of a call of {}", word, function);
  return wanted == number;
}

}  // namespace

bool is_refused(std::string_view function, std::string_view kind) {
  static std::string known;
  static std::map<std::string, Seen, std::less<>> seen;
  const std::lock_guard guard(api_mutex());
  const char* const text = std::getenv("FAKE_CUDA_REFUSE");
  if (text == nullptr) return false;
  if (known != text) {
    known = text;
    seen.clear();
  }
  const std::size_t number = number_of(seen[std::string(function)], kind);
  std::string_view rest = known;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (names(rest.substr(0, comma), function, number)) return true;
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return false;
}

}  // namespace fakecuda
