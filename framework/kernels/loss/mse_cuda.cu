// Mean of squared differences: loss = sum (pred - target)^2 / n,
// d pred = dloss * 2 (pred - target) / n. The forward pass has two stages (partial sums, then one
// block), the backward pass one. Each pass reads both operands once.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/common/cuda/sum.cuh"
#include "framework/kernels/loss/loss_kernels.h"

namespace learn::cuda {
namespace {

struct SquaredError {
  __device__ float operator()(float pred, float target) const {
    return (pred - target) * (pred - target);
  }
};

struct ErrorSlope {
  const float* dloss;
  float factor;
  __device__ float operator()(std::int64_t, float pred, float target) const {
    return *dloss * factor * (pred - target);
  }
};

}  // namespace

template <class T, class U>
void mse_forward(const Exec& exec, const T* pred, const U* target, std::int64_t n, float* loss) {
  const FloatWorkspace partial(exec, partials_of(n));
  partial_sums("mse_forward", exec, n, SquaredError{}, partial.data(), pred, target);
  reduce_partials(
      exec, partials_of(n), partial.data(), ScaleBy{1.0F / static_cast<float>(n)}, loss);
}

template <class T, class U>
void mse_backward(Stream stream,
                  const T* pred,
                  const U* target,
                  std::int64_t n,
                  const float* dloss,
                  T* dpred,
                  GradMode mode) {
  const ErrorSlope f{dloss, 2.0F / static_cast<float>(n)};
  map("mse_backward", stream, mode, n, f, dpred, pred, target);
}

#define LEARN_MSE(T, U)                                                             \
  template void mse_forward(const Exec&, const T*, const U*, std::int64_t, float*); \
  template void mse_backward(Stream, const T*, const U*, std::int64_t, const float*, T*, GradMode);
LEARN_MSE(float, float)
LEARN_MSE(Half, Half)
LEARN_MSE(Half, float)
LEARN_MSE(BFloat16, BFloat16)
LEARN_MSE(BFloat16, float)
#undef LEARN_MSE

}  // namespace learn::cuda
