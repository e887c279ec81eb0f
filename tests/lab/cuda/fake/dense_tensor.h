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
/// "f16".
[[nodiscard]] std::string_view name_of(Element type);

/// `count` elements at a device address as floats. Stops unless all were written before, or the
/// writes of libraries do not count.
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
/// Fills memory with rubbish that no result may depend on: scratch memory, and results that are not
/// added to.
void scribble(void* device, std::size_t bytes, std::string_view what);

/// FAKE_CUDA_LIBRARIES=hostile in the environment: cuDNN and cuBLASLt are as unkind as they may be.
/// They add up in another order, and round inexact results the other way.
[[nodiscard]] bool hostile_libraries();
/// FAKE_CUDA_LIBRARIES=unwritten: what they write has its values, but counts as never written, as
/// for a compute-sanitizer that looks at our own kernels only.
[[nodiscard]] bool unwritten_libraries();
/// Results as a hostile library leaves them, before they are rounded to `type`; the same for the
/// same values. Results that need no rounding, as sums of small integers, stay.
void unsettle(std::vector<float>& values, Element type);

}  // namespace fakecuda
