#include "tests/lab/cuda/fake/dense_tensor.h"

#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/rounding.h"
#include "tests/lab/cuda/fake/stop.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace fakecuda {
namespace {

/// The toolkit's own conversions, not the framework's.
float to_float(const void* element, Element type) {
  switch (type) {
    case Element::f32: {
      float value = 0;
      std::memcpy(&value, element, sizeof(value));
      return value;
    }
    case Element::f16: {
      __half_raw raw{};
      std::memcpy(&raw.x, element, sizeof(raw.x));
      return __half2float(__half(raw));
    }
    case Element::bf16: {
      __nv_bfloat16_raw raw{};
      std::memcpy(&raw.x, element, sizeof(raw.x));
      return __bfloat162float(__nv_bfloat16(raw));
    }
  }
  return 0;
}

void from_float(float value, void* element, Element type) {
  switch (type) {
    case Element::f32:
      std::memcpy(element, &value, sizeof(value));
      return;
    case Element::f16: {
      const __half_raw raw = __float2half_rn(value);
      std::memcpy(element, &raw.x, sizeof(raw.x));
      return;
    }
    case Element::bf16: {
      const __nv_bfloat16_raw raw = __float2bfloat16_rn(value);
      std::memcpy(element, &raw.x, sizeof(raw.x));
      return;
    }
  }
}

/// FAKE_CUDA_LIBRARIES; empty if it is not set.
std::string_view libraries_are() {
  const char* const text = std::getenv("FAKE_CUDA_LIBRARIES");
  const std::string_view is = text != nullptr ? text : "";
  if (text != nullptr && is != "hostile" && is != "unwritten")
    stop("FAKE_CUDA_LIBRARIES is '{}'; it may be hostile or unwritten", is);
  return is;
}

}  // namespace

std::size_t bytes_of(Element type) { return type == Element::f32 ? 4 : 2; }

std::string_view name_of(Element type) {
  return type == Element::f32 ? "f32" : type == Element::f16 ? "f16" : "bf16";
}

std::vector<float> read_floats(const void* device,
                               std::int64_t count,
                               Element type,
                               std::string_view what) {
  const std::size_t size = bytes_of(type);
  std::vector<float> values(static_cast<std::size_t>(count));
  const auto* from = static_cast<const std::byte*>(
      read_view(device, values.size() * size, what, !unwritten_libraries() && !reads_leftovers()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_float(from + i * size, type);
  return values;
}

void write_floats(void* device,
                  const std::vector<float>& values,
                  Element type,
                  std::string_view what) {
  const std::size_t size = bytes_of(type);
  auto* to = static_cast<std::byte*>(write_view(device, values.size() * size, what));
  for (std::size_t i = 0; i < values.size(); ++i) from_float(values[i], to + i * size, type);
  if (unwritten_libraries()) forget_written(device, values.size() * size);
}

void check_alignment(const void* device, std::int64_t bytes, std::string_view what) {
  if (reinterpret_cast<std::uintptr_t>(device) % static_cast<std::uintptr_t>(bytes) != 0)
    stop("{} is at {}, which is no multiple of {} bytes", what, device, bytes);
}

void scribble(void* device, std::size_t bytes, std::string_view what) {
  // NaN in any type, or an unusual number.
  const int byte = hostile_libraries() ? 0xFF : 0xAB;
  if (bytes > 0) std::memset(write_view(device, bytes, what), byte, bytes);
}

bool hostile_libraries() {
  static const bool hostile = libraries_are() == "hostile";
  return hostile;
}

bool unwritten_libraries() {
  static const bool unwritten = libraries_are() == "unwritten";
  return unwritten;
}

void unsettle(std::vector<float>& values, Element type) {
  if (!hostile_libraries()) return;
  // f32 sums differ in their last bits anyway; a half is the neighbour on the other side.
  const Format& format = type == Element::f16 ? kHalf : kBFloat;
  for (float& value : values) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const bool chosen = ((bits * 2654435761U) >> 30U) == 0;  // every fourth, by its own value
    if (!chosen || !std::isfinite(value)) continue;
    if (type == Element::f32) {
      const bool inexact = (bits & 0xFFU) != 0;
      if (inexact) value = std::nextafter(value, (bits & 1U) != 0 ? 0.0F : 2 * value);
      continue;
    }
    const double nearest = round_to(value, format, Rounding::nearest);
    const double other = round_to(value, format, nearest > value ? Rounding::down : Rounding::up);
    if (std::isfinite(other)) value = static_cast<float>(other);
  }
}

}  // namespace fakecuda
