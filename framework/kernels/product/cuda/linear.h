#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/product/linear_geometry.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/exec.h"

#include <cstdint>
#include <memory>

namespace learn::cuda {

/// Linear layers by cuBLASLt: f32, f16, bf16, summed in f32. Device pointers; enqueues only. An
/// object belongs to one context, whose device must be current. cuBLASLt is loaded at the first
/// call. Throws DeviceError with its text.
class Linears {
 public:
  Linears();
  ~Linears();
  Linears(const Linears&) = delete;
  Linears& operator=(const Linears&) = delete;

  /// Computes y = x * w^T [+ bias]. `bias` may be null and must be null for several products.
  void forward(const Exec& exec,
               const LinearGeometry& g,
               DType dtype,
               const void* x,
               const void* w,
               const void* bias,
               void* y);
  /// Computes dx (+)= dy * w.
  void backward_data(const Exec& exec,
                     const LinearGeometry& g,
                     DType dtype,
                     const void* dy,
                     const void* w,
                     void* dx,
                     GradMode mode);
  /// Computes dw (+)= dy^T * x. If `db` is not null and the library supports it, also computes db
  /// (k) = the sums of dy's columns from the same reading of dy, and returns true; otherwise
  /// returns false.
  bool backward_weight(const Exec& exec,
                       const LinearGeometry& g,
                       DType dtype,
                       const void* x,
                       const void* dy,
                       void* dw,
                       GradMode mode,
                       void* db);

 private:
  struct Impl;
  Impl& ready(const Exec& exec);

  std::unique_ptr<Impl> impl_;
};

template <class T>
void linear_forward(
    const Exec& exec, const LinearGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  exec.runtime.cache<Linears>().forward(exec, g, kDType<T>, x, weight, bias, y);
}
template <class T>
void linear_backward_data(
    const Exec& exec, const LinearGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode) {
  exec.runtime.cache<Linears>().backward_data(exec, g, kDType<T>, dy, weight, dx, mode);
}
/// Returns true if it wrote the bias's gradient to `db`, which may be null.
template <class T>
[[nodiscard]] bool linear_backward_weight(const Exec& exec,
                                          const LinearGeometry& g,
                                          const T* x,
                                          const T* dy,
                                          T* dw,
                                          GradMode mode,
                                          T* db) {
  return exec.runtime.cache<Linears>().backward_weight(exec, g, kDType<T>, x, dy, dw, mode, db);
}

}  // namespace learn::cuda
