#pragma once
#include "framework/kernels/map/expression.h"

#include <array>
#include <cstdint>
#include <span>

namespace learn::kernels {

/// One operation of a program. Operands below `MapProgram::kRegisters` are registers, the others
/// constants. For `Op::argument`, `a` is the number of the input.
struct MapInstruction {
  expr::Op op;
  std::uint8_t to, a, b, c;
};

/// Expressions as a list of instructions, which every device interprets. Shared subexpressions are
/// computed once, and everything before anything is written, so outputs may be inputs.
struct MapProgram {
  static constexpr int kInstructions = 160;
  static constexpr int kRegisters = 24;
  static constexpr int kNumbers = 32;
  static constexpr int kInputs = 16;
  static constexpr int kOutputs = 12;

  int instructions = 0, registers = 0, numbers = 0, inputs = 0, outputs = 0;
  std::array<MapInstruction, kInstructions> code{};
  std::array<double, kNumbers> number{};
  std::array<std::uint8_t, kOutputs> output{};  ///< the operand that each is

  /// Whether input `i` is looked at.
  [[nodiscard]] bool reads(int i) const noexcept;
};

/// The program of one or more expressions, whose arguments are the inputs. Throws UsageError for
/// what exceeds one of the numbers above, and says which.
[[nodiscard]] MapProgram compile(std::span<const Expr> outputs);
[[nodiscard]] MapProgram compile(const Expr& output);

}  // namespace learn::kernels
