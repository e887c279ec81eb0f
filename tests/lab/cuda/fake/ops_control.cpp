// Branches, barriers, fences.
#include "tests/lab/cuda/fake/ops_control.h"

#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/decode.h"

namespace fakecuda {
namespace {

void nothing(Warp&, const Instruction&, std::uint32_t) {}

void trap(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  warp.fault(instruction, lanes, "trap");
}

void fence(Warp& warp, const Instruction&, std::uint32_t lanes) { warp.block().fence(warp, lanes); }

Handler decode_barrier(Decoding& d) {
  // bar.sync 0, barrier.sync.aligned 0: all threads of the block. Named and partial barriers are
  // not modelled.
  d.take("cta");
  d.take("aligned");
  d.result.flow = Flow::barrier;
  if (d.take("sync")) return d.operands() == 1 && d.operand(0) == "0" ? nothing : nullptr;
  if (!d.take("red") || d.operands() != 3 || d.operand(1) != "0") return nullptr;
  if (d.take("popc") && d.type() == Type::u32) {
    d.result.mode = kBarrierPopc;
    d.out(0, 4);
  } else if (d.type() == Type::pred) {
    d.result.mode = d.take("and") ? kBarrierAnd : d.take("or") ? kBarrierOr : 0;
    d.out_predicate(0);
  }
  d.in_predicate(2);
  return d.result.mode != 0 ? nothing : nullptr;
}

}  // namespace

Handler decode_control(Decoding& d) {
  const std::string_view opcode = d.opcode();
  if (opcode == "bra") {
    d.take("uni");
    d.result.flow = Flow::branch;
    d.label(0);
    return nothing;
  }
  if (opcode == "brx") {
    if (!d.take("idx") || d.operands() != 2) return nullptr;
    d.take("uni");
    d.result.flow = Flow::table;
    d.in(0, 4);
    d.label(1);
    return nothing;
  }
  if (opcode == "ret" || opcode == "exit") {
    d.take("uni");
    d.result.flow = Flow::leave;
    return nothing;
  }
  if (opcode == "trap") return trap;
  if (opcode == "bar" || opcode == "barrier") return decode_barrier(d);
  if (opcode == "membar")
    return d.take("cta") ? nothing : d.take("gl") || d.take("sys") ? fence : nullptr;
  if (opcode == "fence") {
    if (!d.take("acq_rel") && !d.take("sc")) return nullptr;
    return d.take("cta") ? nothing : d.take("gpu") || d.take("sys") ? fence : nullptr;
  }
  return nullptr;
}

}  // namespace fakecuda
