#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

/// FAKE_CUDA_SURVEY=FILE records the traffic and the arithmetic of each operation of a captured
/// graph, at sizes that would take days to interpret. While the first graph is launched, each of
/// its kernels runs a few of its blocks as a sample; the libraries compute nothing. So memory holds
/// nothing of use, and neither unwritten bytes nor races are looked for. FILE gets the operations
/// of that graph, one a line: name, blocks, threads, bytes read, bytes written, floating-point
/// operations.
namespace fakecuda {

[[nodiscard]] bool surveying();

/// How many blocks of a launch of `blocks` are to be run: all, if there is no survey.
[[nodiscard]] std::size_t blocks_to_run(std::size_t blocks);

struct Work {
  std::uint64_t blocks = 0, threads = 0, read = 0, written = 0, operations = 0;
};

/// The memory that a launch touches, in the sectors of 32 bytes that a GPU moves. A sector counts
/// once for reading and once for writing, as if caches were perfect for the time of one launch.
class Footprint {
 public:
  static constexpr std::uint64_t kSector = 32;

  void begin_block() { ++block_; }
  void touch(std::uint64_t address, std::size_t bytes, bool read, bool written);
  /// Bytes read and written by `blocks` blocks, estimated from those that ran: bytes that only one
  /// block touched are counted once per block; bytes that several touched are common to all.
  [[nodiscard]] Work scaled_to(std::size_t blocks) const;

 private:
  struct Sector {
    std::uint32_t block = 0;
    bool shared = false, read = false, written = false;
  };
  std::unordered_map<std::uint64_t, Sector> sectors_;
  std::uint32_t block_ = 0;
};

/// Records one operation while a surveyed graph runs; otherwise does nothing. `name` has no spaces.
void note_work(const std::string& name, const Work& work);
void begin_graph();
/// Writes the file after the first graph.
void end_graph();

}  // namespace fakecuda
