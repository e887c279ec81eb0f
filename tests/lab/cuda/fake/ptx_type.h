#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace fakecuda {

enum class Type : std::uint8_t {
  none,
  pred,
  u8,
  s8,
  b8,
  u16,
  s16,
  b16,
  u32,
  s32,
  b32,
  u64,
  s64,
  b64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64
};

struct TypeFacts {
  std::string_view name;
  int bytes;
};

inline constexpr std::array kTypeFacts{
    TypeFacts{"", 0},      TypeFacts{"pred", 4},   TypeFacts{"u8", 1},  TypeFacts{"s8", 1},
    TypeFacts{"b8", 1},    TypeFacts{"u16", 2},    TypeFacts{"s16", 2}, TypeFacts{"b16", 2},
    TypeFacts{"u32", 4},   TypeFacts{"s32", 4},    TypeFacts{"b32", 4}, TypeFacts{"u64", 8},
    TypeFacts{"s64", 8},   TypeFacts{"b64", 8},    TypeFacts{"f16", 2}, TypeFacts{"bf16", 2},
    TypeFacts{"f16x2", 4}, TypeFacts{"bf16x2", 4}, TypeFacts{"f32", 4}, TypeFacts{"f64", 8}};

[[nodiscard]] constexpr int bytes_of(Type type) {
  return kTypeFacts[static_cast<std::size_t>(type)].bytes;
}
[[nodiscard]] constexpr std::string_view name_of(Type type) {
  return kTypeFacts[static_cast<std::size_t>(type)].name;
}
[[nodiscard]] constexpr bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
[[nodiscard]] constexpr bool is_float(Type type) { return type >= Type::f16; }

/// Type::none for a word that names no type.
[[nodiscard]] constexpr Type parse_type(std::string_view word) {
  for (std::size_t i = 1; i < kTypeFacts.size(); ++i)
    if (kTypeFacts[i].name == word) return static_cast<Type>(i);
  return Type::none;
}

}  // namespace fakecuda
