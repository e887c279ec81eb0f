#pragma once
#include "framework/core/device.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/device_array.h"
#include "framework/runtime/exec.h"

#include <concepts>
#include <string_view>
#include <utility>

/// Selects the implementation. An operation checks its operands and calls
///
///     dispatch(ctx, "add", a.dtype(), [&]<class T>(const auto& exec) {
///       add(exec, a.data<T>(), b.data<T>(), y.data<T>(), n);
///     });
///
/// and the executor's namespace has the function. One that is missing, for any executor and any of
/// f32, f16 and bf16, does not compile, in a build without CUDA too.
namespace learn::kernels {

/// Calls `f(executor)`: CUDA's on a CUDA device, the reference's in a reference context, otherwise
/// the CPU's. For operations of one type; others have `dispatch`.
template <class F>
void with_executor(Context& ctx, F&& f) {
  static_assert(
      requires(cuda::Exec exec) { f(exec); }, "there is no CUDA implementation");
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      f(cuda::Exec{
          ctx.cuda().compute(), ctx.step(), ctx.cuda_options(), ctx.cuda(), ctx.winograd()});
  } else if (ctx.reference()) {
    f(reference::Exec{});
  } else {
    f(cpu::Exec{ctx.threads(), ctx.step(), ctx.winograd(), ctx.prepared_weights()});
  }
}

/// f64 is supported only on the CPU. On a CUDA device, throws DTypeError that names the operation.
void check_f64_device(const Context& ctx, std::string_view op, DType dtype);

/// Calls `f.operator()<T>(executor)` for a floating dtype. f64 is supported only on the CPU, by the
/// reference. Throws DTypeError that names the operation.
template <class F>
void dispatch(Context& ctx, std::string_view op, DType dtype, F&& f) {
  const auto with_type = [&]<class T>() {
    if constexpr (std::same_as<T, double>)
      f.template operator()<T>(reference::Exec{});
    else
      with_executor(ctx, [&](const auto& exec) { f.template operator()<T>(exec); });
  };
  check_f64_device(ctx, op, dtype);
  check<DTypeError>(
      visit_floating(dtype, with_type), "{}: needs a floating type, got {}", op, dtype);
}

/// Dispatches on two types: `f.operator()<A, B>(executor)`.
template <class F>
void dispatch(Context& ctx, std::string_view op, DType first, DType second, F&& f) {
  check_f64_device(ctx, op, first);
  check_f64_device(ctx, op, second);
  const auto with_types = [&]<class A, class B>() {
    if constexpr (std::same_as<A, double> || std::same_as<B, double>)
      f.template operator()<A, B>(reference::Exec{});
    else
      with_executor(ctx, [&](const auto& exec) { f.template operator()<A, B>(exec); });
  };
  const auto with_first = [&]<class A>() {
    const bool floating =
        visit_floating(second, [&]<class B>() { with_types.template operator()<A, B>(); });
    check<DTypeError>(floating, "{}: needs a floating type, got {}", op, second);
  };
  check<DTypeError>(
      visit_floating(first, with_first), "{}: needs a floating type, got {}", op, first);
}

/// Throws DeviceError unless the tensor is on the context's device.
void check_device(const Context& ctx, std::string_view op, const Tensor& tensor);
template <class T>
void check_device(const Context& ctx, std::string_view op, const DeviceArray<T>& array) {
  check<Error>(array.defined(), "{}: the control block is not allocated", op);
  check<DeviceError>(array.device() == ctx.device(),
                     "{}: the control block is on {}, the context on {}",
                     op,
                     array.device(),
                     ctx.device());
}

/// Throws ShapeError or DTypeError unless both tensors have one shape and dtype.
void check_same(std::string_view op, const Tensor& a, const Tensor& b);

/// The elements of a tensor, or null if it is not defined.
template <class T>
[[nodiscard]] T* data_or_null(Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}
template <class T>
[[nodiscard]] const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace learn::kernels
