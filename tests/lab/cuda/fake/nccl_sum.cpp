#include "tests/lab/cuda/fake/nccl_sum.h"

#include "tests/lab/cuda/fake/stop.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fakecuda {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// `Sum` is the type that is added in.
template <class T, class Sum>
void sum_as(std::byte* result, const std::vector<const std::byte*>& operands, std::size_t count) {
  for (std::size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
    Sum total = static_cast<Sum>(load<T>(operands[0] + at));
    for (std::size_t r = 1; r < operands.size(); ++r)
      total = static_cast<Sum>(total + static_cast<Sum>(load<T>(operands[r] + at)));
    const T rounded = static_cast<T>(total);
    std::memcpy(result + at, &rounded, sizeof(rounded));
  }
}

}  // namespace

std::size_t bytes_of(NcclType type) {
  switch (type) {
    case nccl_u8:
      return 1;
    case nccl_f16:
    case nccl_bf16:
      return 2;
    case nccl_i32:
    case nccl_f32:
      return 4;
    case nccl_i64:
    case nccl_f64:
      return 8;
  }
  stop("NCCL: data type {} is not modelled", static_cast<int>(type));
}

std::string_view name_of(NcclType type) {
  switch (type) {
    case nccl_u8:
      return "u8";
    case nccl_i32:
      return "i32";
    case nccl_i64:
      return "i64";
    case nccl_f16:
      return "f16";
    case nccl_f32:
      return "f32";
    case nccl_f64:
      return "f64";
    case nccl_bf16:
      return "bf16";
  }
  return "?";
}

void sum(std::byte* result,
         const std::vector<const std::byte*>& operands,
         std::size_t count,
         NcclType type) {
  switch (type) {
    case nccl_u8:
      return sum_as<std::uint8_t, std::uint8_t>(result, operands, count);
    case nccl_i32:  // sums of integers wrap
      return sum_as<std::uint32_t, std::uint32_t>(result, operands, count);
    case nccl_i64:
      return sum_as<std::uint64_t, std::uint64_t>(result, operands, count);
    case nccl_f32:
      return sum_as<float, float>(result, operands, count);
    case nccl_f64:
      return sum_as<double, double>(result, operands, count);
    case nccl_f16:
      return sum_as<__half, float>(result, operands, count);
    case nccl_bf16:
      return sum_as<__nv_bfloat16, float>(result, operands, count);
  }
}

}  // namespace fakecuda
