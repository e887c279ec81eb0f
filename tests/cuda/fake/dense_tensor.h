#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Operands of the faked cuDNN and cuBLASLt, as plain floats.
namespace fakecuda {

enum class Element : std::uint8_t { f32, f16, bf16 };

[[nodiscard]] std::size_t bytes_of(Element type);

/// `count` elements at a device address as floats. Stops unless all were written before.
[[nodiscard]] std::vector<float> read_floats(const void* device,
                                             std::int64_t count,
                                             Element type,
                                             std::string_view what);
/// The reverse, rounding to nearest even.
void write_floats(void* device,
                  const std::vector<float>& values,
                  Element type,
                  std::string_view what);
/// Stops unless the address is a multiple of `bytes`.
void check_alignment(const void* device, std::int64_t bytes, std::string_view what);
/// Fills scratch memory with rubbish that no result may depend on.
void scribble(void* device, std::size_t bytes, std::string_view what);

}  // namespace fakecuda
