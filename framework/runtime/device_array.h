#pragma once
#include "framework/runtime/context.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace learn {

/// Values of a plain type in device memory, defined by the same struct for kernels and host: the
/// control values of a step. A view, like a Tensor: copies and elements share the memory.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);

 public:
  DeviceArray() = default;
  /// Uninitialized memory of `arena`.
  explicit DeviceArray(Arena& arena, std::int64_t count = 1)
      : memory_(arena.allocate(bytes_of({count, sizeof(T)}, DType::u8))), count_(count) {}
  /// Copies of the values, in the context's persistent memory. Waits for the device.
  DeviceArray(Context& ctx, std::span<const T> values)
      : count_(static_cast<std::int64_t>(values.size())) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(values.data()),
                          values.size_bytes());
    const Tensor host = borrowed({static_cast<std::int64_t>(bytes.size())}, bytes);
    memory_ = to_device(ctx, ctx.persistent(), host).storage();
  }

  [[nodiscard]] bool defined() const noexcept { return !memory_.empty(); }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] Device device() const noexcept { return memory_.device(); }
  /// For kernels; for the host only where the device is the CPU.
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(memory_.data() + offset_); }
  [[nodiscard]] const T* data() const noexcept {
    return reinterpret_cast<const T*>(memory_.data() + offset_);
  }
  /// One of the values, the same memory.
  [[nodiscard]] DeviceArray at(std::int64_t i) const {
    check(i >= 0 && i < count_, "value {} does not exist among {}", i, count_);
    return range(i, 1);
  }
  /// All values as bytes, the same memory: for copies on the device.
  [[nodiscard]] Tensor bytes() const {
    return {memory_, offset_, {count_ * static_cast<std::int64_t>(sizeof(T))}, DType::u8};
  }
  /// A member of the first value as a tensor of one element, the same memory.
  template <class M>
  [[nodiscard]] Tensor member(M T::*which) const {
    const auto* const first = reinterpret_cast<const std::byte*>(data());
    const auto* const at = reinterpret_cast<const std::byte*>(&(data()->*which));
    return {memory_, offset_ + static_cast<std::size_t>(at - first), {1}, kDType<M>};
  }
  /// The first value, on the host. Waits for the device.
  [[nodiscard]] T read(Context& ctx) const { return at(0).read_all(ctx).front(); }
  /// All of them.
  [[nodiscard]] std::vector<T> read_all(Context& ctx) const {
    const Tensor host = to_host(ctx, bytes());
    std::vector<T> values(static_cast<std::size_t>(count_));
    std::memcpy(values.data(), host.raw(), host.bytes());
    return values;
  }
  /// `count` values from the i-th on, the same memory.
  [[nodiscard]] DeviceArray range(std::int64_t i, std::int64_t count) const {
    check(i >= 0 && count >= 0 && count <= count_ - i,
          "values {} to {} do not exist among {}",
          i,
          i + count,
          count_);
    DeviceArray part = *this;
    part.offset_ += static_cast<std::size_t>(i) * sizeof(T);
    part.count_ = count;
    return part;
  }

 private:
  Storage memory_;
  std::size_t offset_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace learn
