#include "tests/lab/cuda/fake/block.h"

#include "tests/lab/cuda/fake/limits.h"
#include "tests/lab/cuda/fake/ops_control.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fakecuda {
namespace {

int volume(dim3 size) { return static_cast<int>(size.x * size.y * size.z); }

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

std::uint32_t special_value(Special which, int thread, const LaunchShape& shape, dim3 index) {
  const auto t = static_cast<std::uint32_t>(thread);
  const dim3& block = shape.block;
  const std::uint32_t bit = 1U << (t % kWarp);
  switch (which) {
    case Special::tid_x:
      return t % block.x;
    case Special::tid_y:
      return t / block.x % block.y;
    case Special::tid_z:
      return t / block.x / block.y;
    case Special::ntid_x:
      return block.x;
    case Special::ntid_y:
      return block.y;
    case Special::ntid_z:
      return block.z;
    case Special::ctaid_x:
      return index.x;
    case Special::ctaid_y:
      return index.y;
    case Special::ctaid_z:
      return index.z;
    case Special::nctaid_x:
      return shape.grid.x;
    case Special::nctaid_y:
      return shape.grid.y;
    case Special::nctaid_z:
      return shape.grid.z;
    case Special::laneid:
      return t % kWarp;
    case Special::warpid:
      return t / kWarp;
    case Special::lanemask_eq:
      return bit;
    case Special::lanemask_lt:
      return bit - 1;
    case Special::lanemask_le:
      return bit | (bit - 1);
    case Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case Special::lanemask_ge:
      return ~(bit - 1);
    case Special::dynamic_smem_size:
      return static_cast<std::uint32_t>(shape.dynamic_shared);
  }
  stop("no such special register");
}

Block::Block(const PtxModule& module,
             const Kernel& kernel,
             const LaunchShape& shape,
             std::vector<std::byte> arguments)
    : module_(module),
      kernel_(kernel),
      shape_(shape),
      threads_(volume(shape.block)),
      arguments_(std::move(arguments)),
      shared_(kernel.shared_bytes + shape.dynamic_shared),
      shared_cells_(shared_.size() / static_cast<std::size_t>(kernel.shared_granule) + 1),
      local_(kernel.local_bytes * static_cast<std::size_t>(threads_)),
      ranges_(kernel.code.size()) {
  const std::size_t file = (kernel.file_bytes + 63) / 64 * 64;
  const int warps = (threads_ + kWarp - 1) / kWarp;
  registers_.reset(new (std::align_val_t(64)) std::byte[file * static_cast<std::size_t>(warps)]);
  for (int w = 0; w < warps; ++w) {
    const int lanes = std::min(kWarp, threads_ - w * kWarp);
    warps_.emplace_back(*this,
                        w * kWarp,
                        lanes == kWarp ? kAllLanes : (1U << lanes) - 1,
                        registers_.get() + static_cast<std::size_t>(w) * file);
    fill_planes(warps_.back());
  }
  races_.begin_launch();
}

void Block::fill_planes(const Warp& warp) const {
  for (const Constant& constant : kernel_.constants)
    for (int lane = 0; lane < kWarp; ++lane)
      std::memcpy(warp.plane<std::byte>(constant.plane) + std::ptrdiff_t{lane} * constant.bytes,
                  &constant.value,
                  static_cast<std::size_t>(constant.bytes));
  for (const SpecialPlane& special : kernel_.specials) fill_special(warp, special);
}

void Block::fill_special(const Warp& warp, const SpecialPlane& special) const {
  auto* const plane = warp.plane<std::uint32_t>(special.plane);
  for (int lane = 0; lane < kWarp; ++lane)
    plane[lane] = special_value(special.which, warp.thread_of(lane), shape_, index_);
}

void Block::run(dim3 index) {
  index_ = index;
  races_.begin_block();
  footprint_.begin_block();
  std::fill(shared_.begin(), shared_.end(), std::byte{0xFF});
  std::fill(local_.begin(), local_.end(), std::byte{0xFF});
  for (Warp& warp : warps_) {
    warp.restart();
    for (const SpecialPlane& special : kernel_.specials)
      if (special.which >= Special::ctaid_x && special.which <= Special::ctaid_z)
        fill_special(warp, special);
  }
  for (;;) {
    for (Warp& warp : warps_) warp.run();
    if (std::all_of(warps_.begin(), warps_.end(), [](const Warp& warp) {
          return warp.left() == warp.lanes();
        }))
      return;
    check_barrier();
    races_.pass_barrier();
    for (Warp& warp : warps_) warp.pass_barrier();
  }
}

void Block::check_barrier() {
  int arrived = 0;
  const Instruction* barrier = nullptr;
  int first = 0;
  for (const Warp& warp : warps_) {
    if (warp.gathering() != 0) {
      const int lane = std::countr_zero(warp.gathering());
      warp.fault(kernel_.code[static_cast<std::size_t>(warp.place_of(lane))],
                 warp.gathering(),
                 "warp operation waits for a lane that does not come");
    }
    for_lanes(warp.at_barrier(), [&](int lane) {
      const Instruction& here = kernel_.code[static_cast<std::size_t>(warp.place_of(lane))];
      if (barrier == nullptr) {
        barrier = &here;
        first = warp.thread_of(lane);
      }
      if (barrier != &here)
        fault(here,
              warp.thread_of(lane),
              fmt::format("threads wait at different barriers: thread {} at {}",
                          first,
                          module_.where(kernel_.origins[barrier->index].place)));
      ++arrived;
    });
  }
  if (arrived < threads_)
    fault(*barrier,
          first,
          fmt::format(
              "barrier reached by {} of {} threads, the others have exited", arrived, threads_));
  if (barrier->mode != 0) reduce_at_barrier(*barrier);
}

void Block::reduce_at_barrier(const Instruction& instruction) {
  int count = 0;
  for (const Warp& warp : warps_) {
    const std::uint32_t votes = warp.predicate(instruction.in[0]) ^ (instruction.negated ? ~0U : 0);
    count += std::popcount(votes & warp.lanes());
  }
  for (const Warp& warp : warps_) {
    const bool result = instruction.mode == kBarrierAnd ? count == threads_ : count > 0;
    if (instruction.mode == kBarrierPopc)
      for_lanes(warp.lanes(), [&](int lane) { warp.out<std::int32_t>(instruction)[lane] = count; });
    else
      warp.predicate(instruction.out[0]) = result ? ~0U : 0;
  }
}

void Block::fault(const Instruction& instruction, int thread, std::string_view what) const {
  const Origin& origin = kernel_.origins[instruction.index];
  stop("{}\n  in {}\n  block ({},{},{}) thread ({},{},{}), {}\n  PTX line {}: {}",
       what,
       demangled(kernel_.name),
       index_.x,
       index_.y,
       index_.z,
       special_value(Special::tid_x, thread, shape_, index_),
       special_value(Special::tid_y, thread, shape_, index_),
       special_value(Special::tid_z, thread, shape_, index_),
       module_.where(origin.place),
       origin.ptx_line,
       origin.text);
}

void Block::fence(Warp& warp, std::uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    auto& count = warp.fences[static_cast<std::size_t>(lane)];
    if (count < 127) ++count;
    races_.fence(static_cast<std::uint32_t>(warp.thread_of(lane)), count);
  });
}

namespace {

/// Which blocks of a grid to run: all, or some that lie evenly from the first to the last.
std::vector<std::uint32_t> wanted_blocks(std::size_t blocks) {
  std::vector<std::uint32_t> wanted(blocks_to_run(blocks));
  const std::size_t last = std::max<std::size_t>(2, wanted.size()) - 1;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<std::uint32_t>(i * (blocks - 1) / last);
  return wanted;
}

}  // namespace

void run_grid(const PtxModule& module,
              const Kernel& kernel,
              const LaunchShape& shape,
              std::vector<std::byte> arguments) {
  Block block(module, kernel, shape, std::move(arguments));
  const std::size_t blocks =
      std::size_t{shape.grid.x} * std::size_t{shape.grid.y} * std::size_t{shape.grid.z};
  std::vector<std::uint32_t> order = wanted_blocks(blocks);
  // A kernel must not depend on the order of its blocks.
  if (schedule().order == Order::late) std::reverse(order.begin(), order.end());
  if (schedule().order == Order::random)
    std::shuffle(order.begin(), order.end(), schedule().random);
  for (const std::uint32_t b : order)
    block.run({b % shape.grid.x, b / shape.grid.x % shape.grid.y, b / shape.grid.x / shape.grid.y});
  block.release_cells();
  if (!surveying()) return;
  Work work = block.footprint().scaled_to(blocks);
  work.blocks = blocks;
  work.threads = blocks * static_cast<std::uint64_t>(volume(shape.block));
  note_work(kernel.name, work);
}

}  // namespace fakecuda
