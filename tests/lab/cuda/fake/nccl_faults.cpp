#include "tests/lab/cuda/fake/nccl_faults.h"

#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace fakecuda::nccl_faults {
namespace {

struct Fault {
  std::string_view name;
  std::uint64_t number = 0;
  int rank = -1;  ///< every rank
};

struct Kind {
  std::string_view name;
  bool has_number;
};
constexpr std::array kKinds{Kind{"hang", true},
                            Kind{"remote", true},
                            Kind{"timeout", true},
                            Kind{"slow", true},
                            Kind{"version", true},
                            Kind{"system", false},
                            Kind{"own_devices", false}};

/// Removes `mark` and the number after it from the end of `word`; false if there is neither.
template <class T>
bool take_number(std::string_view& word, char mark, T& number) {
  const std::size_t at = word.find(mark);
  if (at == std::string_view::npos) return false;
  const std::string_view digits = word.substr(at + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-')
    stop("FAKE_NCCL: '{}' is not a number in '{}'", digits, word);
  word = word.substr(0, at);
  return true;
}

Fault parse(std::string_view word) {
  const std::string_view whole = word;
  Fault fault;
  take_number(word, '@', fault.rank);
  const bool has_number = take_number(word, ':', fault.number);
  for (const Kind& kind : kKinds)
    if (kind.name == word && kind.has_number == has_number) {
      fault.name = kind.name;
      return fault;
    }
  stop(
      "FAKE_NCCL has '{}'; known: hang:K, remote:K, timeout:K, slow:MS, version:V, system and "
      "own_devices, each with @RANK or without",
      whole);
}

std::vector<Fault> read_faults() {
  const char* const text = std::getenv("FAKE_NCCL");
  std::vector<Fault> faults;
  std::string_view rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    faults.push_back(parse(rest.substr(0, comma)));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return faults;
}

/// The fault of that name for the rank, or null.
const Fault* find(std::string_view name, int rank, std::uint64_t number = 0) {
  static const auto& faults = *new std::vector<Fault>(read_faults());
  const auto found = std::find_if(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.name == name && (fault.rank < 0 || fault.rank == rank) &&
           (number == 0 || fault.number == number);
  });
  return found == faults.end() ? nullptr : &*found;
}

}  // namespace

bool hangs(int rank, std::uint64_t collective) { return find("hang", rank, collective) != nullptr; }

NcclResult error_of(int rank, std::uint64_t collective) {
  if (find("remote", rank, collective) != nullptr) return nccl_remote_error;
  if (find("timeout", rank, collective) != nullptr) return nccl_timeout;
  return nccl_success;
}

std::chrono::milliseconds delay(int rank) {
  const Fault* const slow = find("slow", rank);
  return std::chrono::milliseconds(slow != nullptr ? slow->number : 0);
}

bool refuses_to_start(int rank) { return find("system", rank) != nullptr; }

int version() {
  const Fault* const old = find("version", -1);
  return old != nullptr ? static_cast<int>(old->number) : 23203;
}

bool own_devices() { return find("own_devices", -1) != nullptr; }

}  // namespace fakecuda::nccl_faults
