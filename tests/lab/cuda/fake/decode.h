#pragma once
#include "tests/lab/cuda/fake/instruction.h"

#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

/// One statement of PTX, cut into words.
struct Statement {
  int line = 0;
  int place = 0;
  std::string text;
  std::string guard;  ///< register, without @ and !
  bool guard_negated = false;
  std::vector<std::string> parts;     ///< of the opcode: ld global f32
  std::vector<std::string> operands;  ///< {a,b} and [a+4] stay whole
};

/// Meaning of names within a kernel. Offsets are planes of the warp's register file.
class Names {
 public:
  virtual ~Names() = default;
  struct Register {
    std::uint32_t plane = kNoPlane;
    Type type = Type::none;
  };
  /// Null type if the name is not a register.
  [[nodiscard]] virtual Register find_register(std::string_view name) const = 0;
  /// Returns a plane of `bytes` per lane that holds what an immediate, a special register or the
  /// address of a variable says; kNoPlane for any other text.
  [[nodiscard]] virtual std::uint32_t value_plane(std::string_view text, int bytes) = 0;
  /// A label of a branch or a table of labels, resolved once the kernel is read.
  virtual void want_label(std::size_t instruction, std::string_view label) = 0;
};

/// A statement on its way to an Instruction. The decoders of the families take what they know from
/// it; what is left over makes the statement "not modelled".
class Decoding {
 public:
  Decoding(const Statement& statement, Names& names, Instruction& instruction);

  [[nodiscard]] std::string_view opcode() const { return statement_.parts[0]; }
  /// True if the modifier is there; it is taken.
  bool take(std::string_view modifier);
  /// The first `n` types of the opcode, Type::none if there are fewer.
  [[nodiscard]] Type type(std::size_t n = 0) const {
    return n < types_.size() ? types_[n] : Type::none;
  }
  [[nodiscard]] std::size_t types() const { return types_.size(); }
  [[nodiscard]] bool all_taken() const { return modifiers_.empty() && !failed_; }
  [[nodiscard]] std::size_t operands() const { return statement_.operands.size(); }
  [[nodiscard]] const std::string& operand(std::size_t i) const { return statement_.operands[i]; }
  [[nodiscard]] bool has_two_destinations() const {
    return statement_.text.find('|') != std::string::npos;
  }

  /// Operand `i` as the next destination or source of the instruction, of exactly `bytes` per lane;
  /// 4 bytes of a predicate are its mask. Wider or narrower registers make the statement not
  /// modelled.
  void out(std::size_t i, int bytes) { out_text(operand(i), bytes); }
  void in(std::size_t i, int bytes) { in_text(operand(i), bytes); }
  void out_text(std::string_view text, int bytes);
  void in_text(std::string_view text, int bytes);
  /// A predicate operand, perhaps with !.
  void in_predicate(std::size_t i);
  void out_predicate(std::size_t i);
  /// The pieces of {a,b,...}, or the operand itself.
  [[nodiscard]] std::vector<std::string> pieces(std::size_t i) const;
  /// Bytes of a register operand, 0 for anything else.
  [[nodiscard]] int width(std::string_view text) const;
  /// [a+4], [a], [symbol], [4]: the address as the next source, 8 bytes wide or 4, and the offset.
  void in_address(std::size_t i);
  void label(std::size_t i) { names_.want_label(result.index, operand(i)); }
  /// Makes the statement not modelled.
  void fail() { failed_ = true; }

  Instruction& result;

 private:
  const Statement& statement_;
  Names& names_;
  std::vector<Type> types_;
  std::vector<std::string> modifiers_;
  bool failed_ = false;
};

/// Fills `result`. A statement that is not modelled becomes an instruction that stops the process
/// when it is executed.
void decode(const Statement& statement, Names& names, Instruction& result);

// The families. Each returns a handler, or null for an opcode or form that is not its own.
[[nodiscard]] Handler decode_integer(Decoding& d);
[[nodiscard]] Handler decode_bits(Decoding& d);
[[nodiscard]] Handler decode_float(Decoding& d);
[[nodiscard]] Handler decode_half(Decoding& d);
[[nodiscard]] Handler decode_convert(Decoding& d);
[[nodiscard]] Handler decode_compare(Decoding& d);
[[nodiscard]] Handler decode_move(Decoding& d);
[[nodiscard]] Handler decode_memory(Decoding& d);
[[nodiscard]] Handler decode_atomic(Decoding& d);
[[nodiscard]] Handler decode_warp(Decoding& d);
[[nodiscard]] Handler decode_control(Decoding& d);

}  // namespace fakecuda
