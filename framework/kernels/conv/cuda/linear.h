#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/library_resources.h"

#include <cstdint>
#include <memory>

namespace learn::cuda {

/// x (n,c), w (k,c), y (n,k).
struct LinearSizes {
  std::int64_t n, c, k;
};

/// The CUDA twin of linear layers, by cuBLASLt: f32, f16, bf16, summed in f32. Device pointers;
/// enqueues only. One object belongs to one context, whose device must be current; cuBLASLt is
/// loaded at the first call. Throws DeviceError with its text.
class Linears {
 public:
  Linears();
  ~Linears();
  Linears(const Linears&) = delete;
  Linears& operator=(const Linears&) = delete;

  /// y = x * w^T [+ bias]; `bias` may be null.
  void forward(const LibraryResources& on,
               const LinearSizes& sizes,
               DType dtype,
               const void* x,
               const void* w,
               const void* bias,
               void* y);
  /// dx (+)= dy * w.
  void backward_data(const LibraryResources& on,
                     const LinearSizes& sizes,
                     DType dtype,
                     const void* dy,
                     const void* w,
                     void* dx,
                     GradMode mode);
  /// dw (+)= dy^T * x. If `db` is not null and the library can, also db (k) = the sums of dy's
  /// columns, from the same reading of dy; returns whether it did.
  bool backward_weight(const LibraryResources& on,
                       const LinearSizes& sizes,
                       DType dtype,
                       const void* x,
                       const void* dy,
                       void* dw,
                       GradMode mode,
                       void* db);

 private:
  struct Impl;
  Impl& ready(const LibraryResources& on);

  std::unique_ptr<Impl> impl_;
};

}  // namespace learn::cuda
