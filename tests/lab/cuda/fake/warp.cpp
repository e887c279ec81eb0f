#include "tests/lab/cuda/fake/warp.h"

#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/limits.h"

#include <fmt/core.h>

#include <limits>

namespace fakecuda {

Warp::Warp(Block& block, int first_thread, std::uint32_t lanes, std::byte* registers)
    : block_(block),
      kernel_(block.kernel()),
      registers_(registers),
      first_thread_(first_thread),
      lanes_(lanes) {}

void Warp::fault(const Instruction& instruction, std::uint32_t lanes, std::string_view what) const {
  block_.fault(instruction, thread_of(std::countr_zero(lanes)), what);
}

void Warp::restart() {
  running_ = lanes_;
  at_barrier_ = gathering_ = left_ = 0;
  pc_.fill(0);
  syncs.fill(0);
  fences.fill(0);
  executed_ = 0;
}

void Warp::pass_barrier() {
  for_lanes(at_barrier_, [&](int lane) { ++pc_[static_cast<std::size_t>(lane)]; });
  running_ |= at_barrier_;
  at_barrier_ = 0;
  syncs.fill(0);
  fences.fill(0);
}

void Warp::set_pc(std::uint32_t lanes, int pc) {
  for_lanes(lanes, [&](int lane) { pc_[static_cast<std::size_t>(lane)] = pc; });
}

Warp::Group Warp::pick() const {
  Group group{std::numeric_limits<int>::max(), std::numeric_limits<int>::max(), 0};
  for (std::uint32_t rest = running_; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int pc = pc_[static_cast<std::size_t>(lane)];
    if (pc < group.pc) {
      group.next = group.pc;
      group.pc = pc;
      group.lanes = 0;
    }
    if (pc == group.pc)
      group.lanes |= 1U << lane;
    else if (pc < group.next)
      group.next = pc;
  }
  return group;
}

void Warp::run() {
  while (running_ != 0) run_group(pick());
}

void Warp::run_group(Group group) {
  const std::uint64_t limit = instruction_limit();
  int pc = group.pc;
  for (;;) {
    const Instruction& instruction = kernel_.code[static_cast<std::size_t>(pc)];
    ++kernel_.executed[static_cast<std::size_t>(pc)];
    if (++executed_ > limit) [[unlikely]]
      fault(
          instruction,
          group.lanes,
          fmt::format("no end after {} instructions: an endless loop, or a wait for a thread that "
                      "comes later (FAKE_CUDA_INSTRUCTIONS is the limit)",
                      limit));
    std::uint32_t lanes = group.lanes;
    if (instruction.guard != kNoPlane) {
      const std::uint32_t guard = predicate(instruction.guard);
      lanes &= instruction.guard_negated ? ~guard : guard;
    }
    switch (instruction.flow) {
      case Flow::next:
        if (lanes != 0) instruction.run(*this, instruction, lanes);
        ++pc;
        break;
      case Flow::branch:
        if (lanes == group.lanes) {
          pc = instruction.target;
        } else if (lanes == 0) {
          ++pc;
        } else {
          set_pc(lanes, instruction.target);
          set_pc(group.lanes & ~lanes, pc + 1);
          return;
        }
        break;
      case Flow::table:
        instruction.run(*this, instruction, lanes);
        for_lanes(lanes, [&](int lane) {
          pc_[static_cast<std::size_t>(lane)] =
              kernel_.tables[static_cast<std::size_t>(instruction.target)]
                            [in<std::uint32_t>(instruction, 0)[lane]];
        });
        set_pc(group.lanes & ~lanes, pc + 1);
        return;
      case Flow::leave:
        left_ |= lanes;
        running_ &= ~lanes;
        if (lanes == group.lanes) return;
        group.lanes &= ~lanes;
        ++pc;
        break;
      case Flow::barrier:
        if (lanes == 0) {
          ++pc;
          break;
        }
        park(lanes, group.lanes & ~lanes, pc);
        at_barrier_ |= lanes;
        return;
      case Flow::gather:
        if (lanes == 0) {
          ++pc;
          break;
        }
        park(lanes, group.lanes & ~lanes, pc);
        gathering_ |= lanes;
        try_gather(instruction, lanes);
        return;
    }
    if (pc >= group.next) {
      set_pc(group.lanes, pc);
      return;
    }
  }
}

void Warp::park(std::uint32_t lanes, std::uint32_t others, int pc) {
  set_pc(lanes, pc);
  set_pc(others, pc + 1);
  running_ &= ~lanes;
}

void Warp::try_gather(const Instruction& instruction, std::uint32_t arriving) {
  const std::uint32_t* const masks = plane<std::uint32_t>(instruction.in[instruction.ins - 1U]);
  const std::uint32_t mask = masks[std::countr_zero(arriving)];
  for_lanes(arriving, [&](int lane) {
    if ((masks[lane] >> lane & 1U) == 0)
      fault(instruction, 1U << lane, "the mask of a warp operation leaves out the thread itself");
    if ((masks[lane] & ~lanes_) != 0)
      fault(instruction,
            1U << lane,
            "the mask of a warp operation names lanes the block does not have");
    if ((masks[lane] & left_) != 0)
      fault(instruction, 1U << lane, "warp operation waits for a lane that has exited");
    wanted_[static_cast<std::size_t>(lane)] = masks[lane];
  });
  // Lanes with another mask form a separate group, which completes when its last lane arrives.
  bool complete = true;
  for_lanes(mask, [&](int lane) {
    const auto l = static_cast<std::size_t>(lane);
    complete &= (gathering_ >> lane & 1U) != 0 && wanted_[l] == mask &&
                pc_[l] == static_cast<int>(instruction.index);
  });
  if (!complete) return;
  instruction.run(*this, instruction, mask);
  gathering_ &= ~mask;
  running_ |= mask;
  set_pc(mask, static_cast<int>(instruction.index) + 1);
}

}  // namespace fakecuda
