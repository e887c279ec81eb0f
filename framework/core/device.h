#pragma once
#include <cstdint>

namespace learn {

/// Where memory lives and kernels run.
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

}  // namespace learn
