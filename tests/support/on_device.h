#pragma once
#include "framework/runtime/device_array.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "tests/support/gradcheck.h"

#include <cstdint>
#include <span>
#include <vector>

namespace learn::test {

/// The fast implementation of the program's device: the CPU's with that many threads, or CUDA's.
[[nodiscard]] inline ContextOptions fast_context(int threads) {
  return testing_cuda() ? on_cuda() : ContextOptions{.threads = threads, .arena = {.guard = true}};
}

/// `large` elements, or `small` ones where an interpreter would take minutes for as many.
[[nodiscard]] inline std::int64_t sized(std::int64_t large, std::int64_t small) {
  return testing_cuda() ? small : large;
}

/// Where values wait on their way to a device. One for all: a slab takes longer to map than most
/// operations take to run, by far under a sanitizer.
[[nodiscard]] inline Arena& host_values() {
  static Arena arena("values", cpu_pages());
  return arena;
}

/// Tensors on a context's device, from values made on the host.
[[nodiscard]] inline Tensor put(Context& ctx, const Tensor& host) {
  return to_device(ctx, ctx.persistent(), host);
}
[[nodiscard]] inline Tensor put_full(Context& ctx, const Shape& shape, DType dtype, double value) {
  return put(ctx, full(host_values(), shape, dtype, value));
}
[[nodiscard]] inline Tensor put_values(Context& ctx,
                                       const Shape& shape,
                                       const std::vector<double>& values,
                                       DType dtype = DType::f32) {
  return put(ctx, from_values(host_values(), shape, values, dtype));
}
[[nodiscard]] inline Tensor put_uniform(Context& ctx,
                                        const Shape& shape,
                                        DType dtype,
                                        double low,
                                        double high,
                                        std::uint64_t seed,
                                        std::uint64_t stream = 0) {
  return put(ctx, uniform(host_values(), shape, dtype, low, high, seed, stream));
}

/// A plain value on the device.
template <class T>
[[nodiscard]] DeviceArray<T> put_block(Context& ctx, const T& value) {
  return {ctx, std::span(&value, 1)};
}

/// One element of a tensor on any device.
[[nodiscard]] inline double fetch(Context& ctx, const Tensor& tensor, std::int64_t i) {
  return get(to_host(ctx, tensor), i);
}

}  // namespace learn::test
