#pragma once
#include <cstdint>

namespace learn {

/// Device of memory and kernels.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  [[nodiscard]] static constexpr Device cpu() noexcept { return {}; }
  [[nodiscard]] static constexpr Device cuda(int index = 0) noexcept { return {Kind::cuda, index}; }
  [[nodiscard]] constexpr bool is_cpu() const noexcept { return kind == Kind::cpu; }
  [[nodiscard]] constexpr bool is_cuda() const noexcept { return kind == Kind::cuda; }
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

/// True if the CUDA backend is part of this program. Code under `if constexpr (kHaveCuda)` may name
/// CUDA functions: in a program without them the statement is discarded and needs no symbol.
#if defined(LEARN_HAVE_CUDA) && LEARN_HAVE_CUDA
inline constexpr bool kHaveCuda = true;
#else
inline constexpr bool kHaveCuda = false;
#endif

}  // namespace learn
