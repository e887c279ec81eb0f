#pragma once
#include "tests/lab/cuda/fake/instruction.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace fakecuda {

class Block;

inline constexpr std::uint32_t kAllLanes = ~0U;

/// Up to 32 threads. Lanes at the same instruction run together, the earliest instruction first, so
/// that diverged paths converge again.
class Warp {
 public:
  Warp(Block& block, int first_thread, std::uint32_t lanes, std::byte* registers);

  /// Runs until every lane waits or has left.
  void run();
  /// All lanes at the kernel's start.
  void restart();
  void pass_barrier();

  template <class T>
  [[nodiscard]] T* plane(std::uint32_t offset) const {
    return reinterpret_cast<T*>(registers_ + offset);
  }
  [[nodiscard]] std::uint32_t& predicate(std::uint32_t offset) const {
    return *plane<std::uint32_t>(offset);
  }
  template <class T>
  [[nodiscard]] T* out(const Instruction& instruction, int i = 0) const {
    return plane<T>(instruction.out[static_cast<std::size_t>(i)]);
  }
  template <class T>
  [[nodiscard]] const T* in(const Instruction& instruction, int i) const {
    return plane<const T>(instruction.in[static_cast<std::size_t>(i)]);
  }

  [[nodiscard]] Block& block() const { return block_; }
  [[nodiscard]] int thread_of(int lane) const { return first_thread_ + lane; }
  /// Which lanes the block has at all: all but in the last warp of an odd block.
  [[nodiscard]] std::uint32_t lanes() const { return lanes_; }
  [[nodiscard]] std::uint32_t running() const { return running_; }
  [[nodiscard]] std::uint32_t at_barrier() const { return at_barrier_; }
  [[nodiscard]] std::uint32_t gathering() const { return gathering_; }
  [[nodiscard]] std::uint32_t left() const { return left_; }
  [[nodiscard]] int place_of(int lane) const { return pc_[static_cast<std::size_t>(lane)]; }

  /// How often a lane has passed bar.warp.sync and a fence since the last barrier; the race check's
  /// clock.
  std::array<std::uint16_t, 32> syncs{};
  std::array<std::uint8_t, 32> fences{};

  /// Ends the process with the report of a fault of the first lane in `lanes`.
  [[noreturn]] void fault(const Instruction& instruction,
                          std::uint32_t lanes,
                          std::string_view what) const;

 private:
  struct Group {
    int pc;
    int next;  ///< where the lanes wait that are ahead; they join when the group gets there
    std::uint32_t lanes;
  };
  [[nodiscard]] Group pick() const;
  void run_group(Group group);
  /// Lets `lanes` wait at `pc`; `others`, which the guard leaves out, go on.
  void park(std::uint32_t lanes, std::uint32_t others, int pc);
  /// Executes the gathering instruction if all its lanes are there now.
  void try_gather(const Instruction& instruction, std::uint32_t arriving);
  void set_pc(std::uint32_t lanes, int pc);

  Block& block_;
  const Kernel& kernel_;
  std::byte* registers_;
  int first_thread_;
  std::uint32_t lanes_;
  std::uint32_t running_ = 0;
  std::uint32_t at_barrier_ = 0;
  std::uint32_t gathering_ = 0;
  std::uint32_t left_ = 0;
  std::array<int, 32> pc_{};
  std::array<std::uint32_t, 32> wanted_{};  ///< mask of a gathering lane
  std::uint64_t executed_ = 0;              ///< instructions since the block started
};

/// Calls body(lane) for each lane of the mask; the full mask is a plain loop, which vectorizes.
template <class Body>
inline void for_lanes(std::uint32_t lanes, Body body) {
  if (lanes == kAllLanes) {
#ifndef __clang__  // clang-tidy does not know it
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < 32; ++lane) body(lane);
  } else {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) body(std::countr_zero(rest));
  }
}

}  // namespace fakecuda
