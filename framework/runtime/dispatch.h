#pragma once
#include "framework/core/build.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/device_array.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

/// Helpers of the choosers: every family's .cpp picks one twin here, and nowhere else.
namespace learn {

enum class Twin : std::uint8_t { reference, fast, cuda };

/// f64 and reference contexts run the reference twin, CUDA contexts the CUDA twin.
[[nodiscard]] Twin choose(const Context& ctx, DType dtype);

/// f64 lives in the reference twins only, so the fast ones are compiled for f32, f16 and bf16.
template <class T>
inline constexpr bool kHasFastTwin = !std::is_same_v<T, double>;

/// Calls `f.operator()<T>()` for a floating dtype; throws DTypeError that names the operation
/// otherwise.
template <class F>
void for_floating(std::string_view op, DType dtype, F&& f) {
  check<DTypeError>(visit_floating(dtype, f), "{}: needs a floating type, got {}", op, dtype);
}

/// The same for the types CUDA kernels know: f32, f16, bf16. f64 lives on the CPU only.
template <class F>
void for_cuda_floating(std::string_view op, DType dtype, F&& f) {
  check<DTypeError>(
      dtype != DType::f64, "{}: f64 lives on the CPU only; use f32 on a CUDA device", op);
  for_floating(op, dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, double>) f.template operator()<T>();
  });
}

/// Throws DeviceError unless the tensor lives on the context's device.
void check_device(const Context& ctx, std::string_view op, const Tensor& tensor);
template <class T>
void check_device(const Context& ctx, std::string_view op, const DeviceArray<T>& array) {
  check<Error>(array.defined(), "{}: what steers it has no memory", op);
  check<DeviceError>(array.device() == ctx.device(),
                     "{}: what steers it is on {}, the context on {}",
                     op,
                     array.device(),
                     ctx.device());
}

/// Throws ShapeError or DTypeError unless both tensors have one shape and dtype.
void check_same(std::string_view op, const Tensor& a, const Tensor& b);

}  // namespace learn
