#pragma once
#include "tests/lab/cuda/fake/ptx_type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fakecuda {

class Warp;
struct Instruction;

/// Executes one instruction for the lanes in `lanes`.
using Handler = void (*)(Warp& warp, const Instruction& instruction, std::uint32_t lanes);

/// How an instruction passes control on.
enum class Flow : std::uint8_t {
  next,     ///< to the next one
  branch,   ///< lanes may part
  table,    ///< brx.idx
  leave,    ///< ret, exit
  barrier,  ///< waits for the block
  gather    ///< waits for the lanes of its mask: shfl, vote, bar.warp.sync
};

enum class Space : std::uint8_t { generic, global, shared, local, param, constant };

inline constexpr std::uint32_t kNoPlane = ~0U;

/// A decoded instruction. An operand is a *plane*: 32 values, one per lane, at a byte offset into
/// the warp's register file; immediates and special registers are planes as well, filled
/// beforehand. A predicate is a plane of one 32-bit mask.
struct Instruction {
  Handler run = nullptr;
  Flow flow = Flow::next;
  Space space = Space::generic;
  Type type = Type::none;    ///< of the operation
  Type source = Type::none;  ///< cvt: what is converted
  bool guard_negated = false;
  std::uint8_t outs = 0;
  std::uint8_t ins = 0;
  std::uint8_t register_bytes = 0;  ///< ld, st, cvt: width of the register, where it may be wider
  bool strong = false;   ///< ld, st: volatile or relaxed, so it cannot race with its like
  bool negated = false;  ///< of the predicate operand
  int mode = 0;          ///< rounding, comparison, byte order ...: the family's own
  std::uint32_t guard = kNoPlane;
  std::array<std::uint32_t, 8> out{};
  std::array<std::uint32_t, 9> in{};
  std::int64_t offset = 0;  ///< added to an address
  std::int32_t target = 0;  ///< branch: index of the instruction; table: of the table
  std::uint32_t index = 0;  ///< its own
};

/// Where an instruction comes from, for reports and coverage.
struct Origin {
  int ptx_line = 0;
  int place = 0;  ///< index into PtxModule's places
  std::string text;
};

struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// A __shared__ variable; the dynamic one has no size.
struct SharedVariable {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Values a plane holds from the start: an immediate.
struct Constant {
  std::uint32_t plane = 0;
  int bytes = 0;
  std::uint64_t value = 0;
};

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  dynamic_smem_size
};

struct SpecialPlane {
  std::uint32_t plane = 0;
  Special which = Special::tid_x;
};

/// Traffic of the launches of a kernel.
struct Traffic {
  std::uint64_t launches = 0;
  std::uint64_t threads = 0;
  std::uint64_t read =
      0;  ///< bytes of global memory, as the instructions asked for them: no caches
  std::uint64_t written = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::vector<Instruction> code;
  std::vector<Origin> origins;
  std::vector<std::vector<std::int32_t>> tables;
  std::size_t file_bytes = 0;  ///< of one warp's register file
  std::vector<Constant> constants;
  std::vector<SpecialPlane> specials;
  std::vector<SharedVariable> shared;
  std::size_t shared_bytes = 0;   ///< static, gaps included
  std::size_t static_shared = 0;  ///< what the variables themselves take
  bool dynamic_shared = false;
  std::size_t local_bytes = 0;
  int max_threads = 1024;
  bool fences = false;
  int global_granule = 16;  ///< the smallest access to global memory: what the race check resolves
  int shared_granule = 16;
  mutable std::vector<std::uint64_t> executed;  ///< per instruction, for coverage
  mutable Traffic traffic;
};

/// Addresses of generic pointers: shared and local memory have windows that cannot contain an
/// allocation.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 60U;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 60U;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 60U;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{3} << 60U;
/// Start of dynamic shared memory in the address space of shared memory, after all static
/// variables.
inline constexpr std::uint64_t kDynamicShared = std::uint64_t{1} << 20U;
/// Between variables in shared memory, so that an index out of one does not reach the next.
inline constexpr std::size_t kSharedGap = 64;

}  // namespace fakecuda
