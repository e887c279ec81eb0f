#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace fakecuda {

/// Who touches memory: packed, because every granule of memory remembers two of them.
struct Stamp {
  std::uint32_t thread : 10;
  std::uint32_t syncs : 12;   ///< bar.warp.sync passed since the last barrier
  std::uint32_t fences : 7;   ///< grid-wide fences passed since the last barrier
  std::uint32_t strong : 1;   ///< atomic or volatile: cannot race with its like
  std::uint32_t many : 1;     ///< readers only: other threads have read in this phase, too
  std::uint32_t foreign : 1;  ///< readers only: other blocks of this launch have read, too
};

/// The last write and the last read of a granule. A phase is the time between two barriers of one
/// block; no two have the same number, so that cells need no clearing.
struct Cell {
  std::uint32_t write_phase;
  Stamp writer;
  std::uint32_t read_phase;
  Stamp reader;
};
static_assert(sizeof(Cell) == 16);

/// Decides whether two accesses of one launch are ordered: by being the same thread's, by a
/// barrier, by a bar.warp.sync of their warp, or, between blocks, by write, fence, atomic and then
/// atomic, fence, access.
class RaceCheck {
 public:
  void begin_launch();
  void begin_block();
  void pass_barrier();

  /// Notes the access. Empty if it is in order with all before it; otherwise what it collides with.
  template <bool shared>
  [[nodiscard]] const char* read(Cell& cell, Stamp me) {
    if (cell.write_phase >= first<shared>() && !in_order(cell.write_phase, cell.writer, me))
      return collision(cell.write_phase, cell.writer, "after the write");
    const bool foreign = !shared && cell.read_phase >= launch_first_ &&
                         (cell.read_phase < block_first_ || cell.reader.foreign != 0);
    me.many =
        cell.read_phase == phase_ && (cell.reader.many != 0 || cell.reader.thread != me.thread);
    me.strong = me.strong != 0 && (cell.read_phase != phase_ || cell.reader.strong != 0);
    me.foreign = foreign;
    cell.read_phase = phase_;
    cell.reader = me;
    return nullptr;
  }
  template <bool shared>
  [[nodiscard]] const char* write(Cell& cell, Stamp me) {
    if (cell.write_phase >= first<shared>() && !in_order(cell.write_phase, cell.writer, me))
      return collision(cell.write_phase, cell.writer, "after the write");
    if (cell.read_phase >= first<shared>() && (cell.reader.strong & me.strong) == 0) {
      if (cell.read_phase == phase_ && cell.reader.many != 0)
        return collision(cell.read_phase, cell.reader, "after the read");
      if (!in_order(cell.read_phase, cell.reader, me) ||
          (cell.reader.foreign != 0 && acquired_.empty()))
        return collision(cell.read_phase, cell.reader, "after the read");
    }
    cell.write_phase = phase_;
    cell.writer = me;
    return nullptr;
  }
  /// True if this block has written the granule of its shared memory.
  [[nodiscard]] bool written_by_block(const Cell& cell) const {
    return cell.write_phase >= block_first_;
  }
  [[nodiscard]] bool written_by_launch(const Cell& cell) const {
    return cell.write_phase >= launch_first_;
  }

  void fence(std::uint32_t thread, std::uint32_t fences);
  void atomic(std::uintptr_t address, std::uint32_t thread);

 private:
  /// Writes that a thread has published by a fence and then an atomic.
  struct Release {
    std::uint32_t block_first;
    std::uint32_t phase;  ///< everything its block did in earlier phases, ...
    std::uint32_t thread;
    std::uint32_t fences;  ///< ... and itself before this fence
  };
  struct Acquired {
    Release release;
    std::uint32_t thread;
    std::uint32_t phase;
  };
  struct LastFence {
    std::uint32_t phase = 0;
    std::uint32_t fences = 0;
    std::vector<Release> pending;  ///< seen by atomics, not yet by a fence
  };

  template <bool shared>
  [[nodiscard]] std::uint32_t first() const {
    return shared ? block_first_ : launch_first_;
  }
  [[nodiscard]] bool in_order(std::uint32_t phase, Stamp other, Stamp me) const {
    if ((other.strong & me.strong) != 0) return true;
    if (phase < block_first_) return released(phase, other, me);
    return phase < phase_ || other.thread == me.thread ||
           (other.thread / 32 == me.thread / 32 && other.syncs < me.syncs);
  }
  [[nodiscard]] bool released(std::uint32_t phase, Stamp other, Stamp me) const;
  [[nodiscard]] const char* collision(std::uint32_t phase, Stamp other, const char* what);

  std::uint32_t launch_first_ = 1;
  std::uint32_t block_first_ = 1;
  std::uint32_t phase_ = 1;
  std::vector<LastFence> threads_;
  std::vector<Acquired> acquired_;
  std::unordered_map<std::uintptr_t, std::vector<Release>> releases_;
  std::string text_;
};

}  // namespace fakecuda
