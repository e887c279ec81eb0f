// ld and st.
#include "tests/lab/cuda/fake/ops_memory.h"

#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/ops.h"

#include <cstring>

namespace fakecuda {

void take_space(Decoding& d) {
  Instruction& result = d.result;
  if (d.take("global"))
    result.space = Space::global;
  else if (d.take("shared") || d.take("shared::cta"))
    result.space = Space::shared;
  else if (d.take("local"))
    result.space = Space::local;
  else if (d.take("param"))
    result.space = Space::param;
  else if (d.take("const"))
    result.space = Space::constant;
  else
    result.space = Space::generic;
}

namespace {

/// Hints for the caches change nothing; volatile and relaxed accesses do not race with each other.
void take_hints(Decoding& d) {
  for (const std::string_view hint : {"ca",
                                      "cg",
                                      "cs",
                                      "lu",
                                      "cv",
                                      "wb",
                                      "wt",
                                      "weak",
                                      "L1::no_allocate",
                                      "L1::evict_first",
                                      "L1::evict_last",
                                      "L1::evict_normal",
                                      "L1::evict_unchanged",
                                      "L2::evict_first",
                                      "L2::evict_last",
                                      "L2::evict_normal",
                                      "L2::64B",
                                      "L2::128B",
                                      "L2::256B"})
    d.take(hint);
  if (d.take("volatile")) d.result.strong = true;
  if (d.take("relaxed")) {
    d.result.strong = true;
    if (!d.take("cta") && !d.take("gpu")) d.take("sys");
  }
}

template <class Address>
void load(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const int bytes = bytes_of(instruction.type);
  const int width = instruction.register_bytes;
  const int count = instruction.outs;
  const auto* const addresses = warp.in<Address>(instruction, 0);
  const Access access = instruction.mode == kReadOnlyCache ? Access::read_only_cache : Access::read;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t at = addresses[lane] + static_cast<std::uint64_t>(instruction.offset);
    const std::byte* const p =
        warp.block().access(warp, instruction, lane, at, bytes * count, access);
    for (int i = 0; i < count; ++i) {
      auto* const out = warp.out<std::byte>(instruction, i) + std::ptrdiff_t{lane} * width;
      std::uint64_t value = 0;
      std::memcpy(&value, p + std::ptrdiff_t{i} * bytes, static_cast<std::size_t>(bytes));
      if (is_signed(instruction.type)) {
        const int shift = 64 - 8 * bytes;
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
      }
      std::memcpy(out, &value, static_cast<std::size_t>(width));
    }
  }
}

template <class Address>
void store(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const int bytes = bytes_of(instruction.type);
  const int width = instruction.register_bytes;
  const int count = instruction.ins - 1;
  const auto* const addresses = warp.in<Address>(instruction, 0);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t at = addresses[lane] + static_cast<std::uint64_t>(instruction.offset);
    std::byte* const p =
        warp.block().access(warp, instruction, lane, at, bytes * count, Access::write);
    for (int i = 0; i < count; ++i)
      std::memcpy(p + std::ptrdiff_t{i} * bytes,
                  warp.in<std::byte>(instruction, i + 1) + std::ptrdiff_t{lane} * width,
                  static_cast<std::size_t>(bytes));
  }
}

/// The vector suffix must fit the operand; the width of its registers, which may exceed the type's.
int vector_width(Decoding& d, std::size_t operand) {
  const std::vector<std::string> pieces = d.pieces(operand);
  const std::size_t count = d.take("v2") ? 2 : d.take("v4") ? 4 : d.take("v8") ? 8 : 1;
  if (pieces.size() != count) return 0;
  int width = 0;
  for (const std::string& piece : pieces) width = std::max(width, d.width(piece));
  return width == 0 ? bytes_of(d.type()) : width;
}

}  // namespace

Handler decode_memory(Decoding& d) {
  const bool loads = d.opcode() == "ld";
  if ((!loads && d.opcode() != "st") || d.types() != 1 || d.operands() != 2) return nullptr;
  take_space(d);
  take_hints(d);
  if (loads && d.take("nc")) d.result.mode = kReadOnlyCache;
  d.result.type = d.type();
  d.in_address(loads ? 1 : 0);
  const bool narrow_address = d.result.register_bytes == 4;
  const int width = vector_width(d, loads ? 0 : 1);
  if (width < bytes_of(d.type())) return nullptr;
  for (const std::string& piece : d.pieces(loads ? 0 : 1))
    loads ? d.out_text(piece, width) : d.in_text(piece, width);
  d.result.register_bytes = static_cast<std::uint8_t>(width);
  if (loads) return narrow_address ? load<std::uint32_t> : load<std::uint64_t>;
  return narrow_address ? store<std::uint32_t> : store<std::uint64_t>;
}

}  // namespace fakecuda
