#include "tests/lab/cuda/fake/decode.h"

#include "tests/lab/cuda/fake/ptx_text.h"
#include "tests/lab/cuda/fake/warp.h"

#include <algorithm>
#include <cstdlib>

namespace fakecuda {
namespace {

void not_modelled(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  warp.fault(instruction, lanes, "an instruction that the fake runtime does not model");
}

}  // namespace

Decoding::Decoding(const Statement& statement, Names& names, Instruction& instruction)
    : result(instruction), statement_(statement), names_(names) {
  for (std::size_t i = 1; i < statement.parts.size(); ++i) {
    const Type type = parse_type(statement.parts[i]);
    if (type != Type::none)
      types_.push_back(type);
    else
      modifiers_.push_back(statement.parts[i]);
  }
}

bool Decoding::take(std::string_view modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

int Decoding::width(std::string_view text) const {
  return bytes_of(names_.find_register(text).type);
}

void Decoding::out_text(std::string_view text, int bytes) {
  if (result.outs == result.out.size()) return fail();
  // "_" is an unused destination; it gets a plane that is never read.
  const Names::Register reg = names_.find_register(text);
  const std::uint32_t plane = text == "_" ? names_.value_plane("0", bytes) : reg.plane;
  if (text != "_" && bytes_of(reg.type) != bytes) return fail();
  result.out[result.outs++] = plane;
}

void Decoding::in_text(std::string_view text, int bytes) {
  if (result.ins == result.in.size()) return fail();
  const Names::Register reg = names_.find_register(text);
  if (reg.type != Type::none && (bytes_of(reg.type) != bytes || reg.type == Type::pred))
    return fail();
  const std::uint32_t plane = reg.type != Type::none ? reg.plane : names_.value_plane(text, bytes);
  if (plane == kNoPlane) return fail();
  result.in[result.ins++] = plane;
}

void Decoding::out_predicate(std::size_t i) {
  const Names::Register reg = names_.find_register(operand(i));
  if (operand(i) == "_") return out_text("_", 4);
  if (reg.type != Type::pred || result.outs == result.out.size()) return fail();
  result.out[result.outs++] = reg.plane;
}

void Decoding::in_predicate(std::size_t i) {
  std::string_view text = operand(i);
  if (text.starts_with('!')) {
    if (result.negated) return fail();
    result.negated = true;
    text.remove_prefix(1);
  }
  const Names::Register reg = names_.find_register(text);
  if (reg.type == Type::pred && result.ins < result.in.size()) {
    result.in[result.ins++] = reg.plane;
  } else {
    fail();
  }
}

std::vector<std::string> Decoding::pieces(std::size_t i) const {
  const std::string& text = operand(i);
  if (!text.starts_with('{')) return {text};
  return split_operands(std::string_view(text).substr(1, text.size() - 2));
}

void Decoding::in_address(std::size_t i) {
  const std::string& text = operand(i);
  if (text.size() < 3 || text.front() != '[') return fail();
  std::string inside = text.substr(1, text.size() - 2);
  const std::size_t plus = inside.find('+');
  if (plus != std::string::npos) {
    result.offset = std::strtoll(inside.c_str() + plus + 1, nullptr, 0);
    inside.resize(plus);
  }
  const int bytes = width(inside);
  if (bytes == 4) {
    // 32-bit addresses of shared memory.
    result.register_bytes = 4;
    in_text(inside, 4);
  } else {
    result.register_bytes = 8;
    in_text(inside, 8);
  }
}

void decode(const Statement& statement, Names& names, Instruction& result) {
  if (!statement.guard.empty()) {
    const Names::Register guard = names.find_register(statement.guard);
    result.guard = guard.plane;
    result.guard_negated = statement.guard_negated;
  }
  const Instruction plain = result;
  for (const auto family : {decode_memory,
                            decode_float,
                            decode_integer,
                            decode_move,
                            decode_compare,
                            decode_control,
                            decode_convert,
                            decode_bits,
                            decode_half,
                            decode_warp,
                            decode_atomic}) {
    Decoding decoding(statement, names, result);
    result.run = family(decoding);
    if (result.run != nullptr && decoding.all_taken()) return;
    result = plain;
  }
  result.run = not_modelled;
}

}  // namespace fakecuda
