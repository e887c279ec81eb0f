#include "tests/lab/cuda/fake/nccl_faults.h"

#include "tests/lab/cuda/fake/stop.h"

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace fakecuda {
namespace {

struct Fault {
  std::string name;
  std::uint64_t number = 0;
  int rank = -1;  ///< every rank
};

std::vector<Fault> read_faults() {
  const std::regex form(
      R"((?:(hang|remote|timeout|slow|version):(\d{1,9})|(system|own_devices))(?:@(\d{1,9}))?)");
  const char* const text = std::getenv("FAKE_NCCL");
  std::istringstream words(text != nullptr ? text : "");
  std::vector<Fault> faults;
  for (std::string word; std::getline(words, word, ',');) {
    std::smatch parts;
    if (!std::regex_match(word, parts, form))
      stop(
          "FAKE_NCCL has '{}'; known: hang:K, remote:K, timeout:K, slow:MS, version:V, system and "
          "own_devices, each with @RANK or without",
          word);
    Fault& fault = faults.emplace_back(Fault{.name = parts.str(1) + parts.str(3)});
    if (parts[2].matched) fault.number = std::stoull(parts.str(2));
    if (parts[4].matched) fault.rank = std::stoi(parts.str(4));
  }
  return faults;
}

}  // namespace

std::optional<std::uint64_t> nccl_fault(std::string_view name, int rank, std::uint64_t number) {
  // Used by a thread that may outlive static objects: never destroyed.
  static const auto& faults = *new std::vector<Fault>(read_faults());
  for (const Fault& fault : faults)
    if (fault.name == name && (fault.rank < 0 || fault.rank == rank) &&
        (number == 0 || fault.number == number))
      return fault.number;
  return std::nullopt;
}

}  // namespace fakecuda
