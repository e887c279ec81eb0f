#pragma once
#include "framework/kernels/map/expression.h"

#include <array>
#include <cstdint>
#include <span>

namespace learn::kernels {

/// One operation of a program. Operands below `MapProgram::kRegisters` are registers, the others
/// numbers. For `Op::argument`, `a` is the index of the input.
struct MapInstruction {
  expr::Op op;
  std::uint8_t to, a, b, c;
};

/// Expressions compiled to a list of instructions, which every device interprets. Common
/// subexpressions are computed once. Everything is computed before anything is written, so outputs
/// may be inputs.
struct MapProgram {
  static constexpr int kInstructions = 160;
  static constexpr int kRegisters = 24;
  static constexpr int kNumbers = 32;
  static constexpr int kInputs = 16;
  static constexpr int kOutputs = 12;

  int instructions = 0, registers = 0, numbers = 0, inputs = 0, outputs = 0;
  std::array<MapInstruction, kInstructions> code{};
  std::array<double, kNumbers> number{};
  std::array<std::uint8_t, kOutputs> output{};  ///< the operand of each output

  /// Returns whether the program reads input `i`.
  [[nodiscard]] bool reads(int i) const noexcept;
};

/// Compiles one or more expressions, whose arguments are the inputs. Throws a UsageError that names
/// the limit if one of the numbers above is exceeded.
[[nodiscard]] MapProgram compile(std::span<const Expr> outputs);
[[nodiscard]] MapProgram compile(const Expr& output);

}  // namespace learn::kernels
