#include "tests/lab/cuda/fake/survey.h"

#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace fakecuda {
namespace {

const char* file_name() {
  static const char* const name = std::getenv("FAKE_CUDA_SURVEY");
  return name;
}

enum class Phase { before, graph, after };

struct Journal {
  Phase phase = Phase::before;
  std::vector<std::pair<std::string, Work>> operations;
};

Journal& journal() {
  static auto& the_journal = *new Journal;
  return the_journal;
}

}  // namespace

bool surveying() { return file_name() != nullptr; }

std::size_t blocks_to_run(std::size_t blocks) {
  if (!surveying()) return blocks;
  constexpr std::size_t kSample = 4;
  // One is enough for what the host reads in between.
  return std::min(blocks, journal().phase == Phase::graph ? kSample : std::size_t{1});
}

void Footprint::touch(std::uint64_t address, std::size_t bytes, bool read, bool written) {
  for (std::uint64_t sector = address / kSector; sector <= (address + bytes - 1) / kSector;
       ++sector) {
    const auto [found, fresh] = sectors_.try_emplace(sector, Sector{.block = block_});
    Sector& known = found->second;
    known.shared = known.shared || known.block != block_;
    known.read = known.read || read;
    known.written = known.written || written;
  }
}

Work Footprint::scaled_to(std::size_t blocks) const {
  std::uint64_t read[2] = {0, 0};
  std::uint64_t written[2] = {0, 0};  // by one block, by several
  for (const auto& [at, sector] : sectors_) {
    read[sector.shared ? 1 : 0] += sector.read ? kSector : 0;
    written[sector.shared ? 1 : 0] += sector.written ? kSector : 0;
  }
  const auto all = [&](const std::uint64_t* bytes) {
    return bytes[0] * blocks / std::max<std::uint64_t>(1, block_) + bytes[1];
  };
  return {.read = all(read), .written = all(written)};
}

void note_work(const std::string& name, const Work& work) {
  if (journal().phase == Phase::graph) journal().operations.emplace_back(name, work);
}

void begin_graph() {
  if (surveying() && journal().phase == Phase::before) journal().phase = Phase::graph;
}

void end_graph() {
  if (journal().phase != Phase::graph) return;
  journal().phase = Phase::after;
  std::FILE* const file = std::fopen(file_name(), "w");
  if (file == nullptr) stop("FAKE_CUDA_SURVEY: '{}' cannot be written", file_name());
  for (const auto& [name, work] : journal().operations)
    std::fputs(fmt::format("{} {} {} {} {} {}\n",
                           name,
                           work.blocks,
                           work.threads,
                           work.read,
                           work.written,
                           work.operations)
                   .c_str(),
               file);
  if (std::fclose(file) != 0) stop("FAKE_CUDA_SURVEY: '{}' cannot be written", file_name());
}

}  // namespace fakecuda
