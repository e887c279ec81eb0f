#pragma once
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/ptx_module.h"
#include "tests/lab/cuda/fake/race_check.h"
#include "tests/lab/cuda/fake/survey.h"
#include "tests/lab/cuda/fake/warp.h"

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace fakecuda {

/// Grid, block and arguments of one launch.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared = 0;
};

enum class Access { read, read_only_cache, write, atomic };

/// One block of threads at a time: its warps, its shared and local memory, and the checks of every
/// access. A launch uses one of these for all its blocks, one after another.
class Block {
 public:
  Block(const PtxModule& module,
        const Kernel& kernel,
        const LaunchShape& shape,
        std::vector<std::byte> arguments);
  ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Runs the block with this index from start to end.
  void run(dim3 index);
  /// Gives back what the race check took for large allocations; after the last block.
  void release_cells() const;

  /// The simulator's view of `bytes` at an address, after all checks; a fault ends the process.
  std::byte* access(const Warp& warp,
                    const Instruction& instruction,
                    int lane,
                    std::uint64_t address,
                    int bytes,
                    Access access);
  void fence(Warp& warp, std::uint32_t lanes);

  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  /// For a survey: global memory touched by the blocks that ran.
  [[nodiscard]] const Footprint& footprint() const { return footprint_; }
  [[noreturn]] void fault(const Instruction& instruction, int thread, std::string_view what) const;

 private:
  void fill_planes(const Warp& warp) const;
  void fill_special(const Warp& warp, const SpecialPlane& special) const;
  void run_to_barrier();
  void check_barrier();
  std::byte* global(const Warp& warp,
                    const Instruction& instruction,
                    int lane,
                    std::uint64_t address,
                    int bytes,
                    Access access);
  std::byte* shared(const Warp& warp,
                    const Instruction& instruction,
                    int lane,
                    std::uint64_t address,
                    int bytes,
                    Access access);
  std::byte* local(
      const Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, int bytes);
  std::byte* argument(const Instruction& instruction, int thread, std::uint64_t address, int bytes);
  /// The storage of an address in shared memory; faults if it is not in a variable.
  std::size_t shared_offset(const Instruction& instruction,
                            int thread,
                            std::uint64_t address,
                            int bytes) const;
  void reduce_at_barrier(const Instruction& instruction);
  [[nodiscard]] Stamp stamp(const Warp& warp,
                            const Instruction& instruction,
                            int lane,
                            Access access) const;

  const PtxModule& module_;
  const Kernel& kernel_;
  bool surveying_ = surveying();
  LaunchShape shape_;
  dim3 index_;
  int threads_;
  std::vector<std::byte> arguments_;
  std::unique_ptr<std::byte[]> registers_;
  std::vector<Warp> warps_;
  std::vector<std::byte> shared_;
  std::vector<Cell> shared_cells_;
  std::vector<std::byte> local_;
  RaceCheck races_;
  Footprint footprint_;
  std::vector<Range> ranges_;  ///< per instruction: the allocation it used last
};

/// The special register of one lane.
[[nodiscard]] std::uint32_t special_value(Special which,
                                          int thread,
                                          const LaunchShape& shape,
                                          dim3 index);

/// Runs every block of the grid, in the schedule's order.
void run_grid(const PtxModule& module,
              const Kernel& kernel,
              const LaunchShape& shape,
              std::vector<std::byte> arguments);

}  // namespace fakecuda
