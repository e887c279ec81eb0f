#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/loss/loss_kernels.h"
#include "framework/tensor/convert.h"

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic
constexpr std::int64_t kLanes = 16;     // the order of the sums is part of the result

std::int64_t partial_count(std::int64_t n) { return kLanes * ThreadPool::chunk_count(n, kGrain); }

}  // namespace

template <class T, class U>
void mse_forward(const Exec& exec, const T* pred, const U* target, std::int64_t n, float* loss) {
  const FloatWorkspace workspace(exec.workspace, partial_count(n));
  float* const partial = workspace.data();
  exec.threads.for_chunks(n, kGrain, [=](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    simd::run([=] {
      float lanes[kLanes] = {};
      const auto add = [&](std::int64_t lane, std::int64_t i) {
        const float off = as_float(pred[i]) - as_float(target[i]);
        lanes[lane] += off * off;
      };
      std::int64_t i = begin;
      for (; i + kLanes <= end; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
      for (std::int64_t lane = 0; i + lane < end; ++lane) add(lane, i + lane);
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        partial[chunk * kLanes + lane] = lanes[lane];
    });
  });
  double sum = 0;
  for (std::int64_t i = 0; i < partial_count(n); ++i) sum += static_cast<double>(partial[i]);
  *loss = static_cast<float>(sum / static_cast<double>(n));
}

template <class T, class U>
void mse_backward(ThreadPool& threads,
                  const T* pred,
                  const U* target,
                  std::int64_t n,
                  const float* dloss,
                  T* dpred,
                  GradMode mode) {
  const float factor = *dloss * 2 / static_cast<float>(n);
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    const auto value = [=](std::int64_t i) {
      return factor * (as_float(pred[i]) - as_float(target[i]));
    };
    if (mode == GradMode::overwrite) {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) dpred[i] = from_float<T>(value(i));
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i)
        dpred[i] = from_float<T>(as_float(dpred[i]) + value(i));
    }
  });
}

#define LEARN_MSE(T, U)                                                             \
  template void mse_forward(const Exec&, const T*, const U*, std::int64_t, float*); \
  template void mse_backward(                                                       \
      ThreadPool&, const T*, const U*, std::int64_t, const float*, T*, GradMode);
LEARN_MSE(float, float)
LEARN_MSE(Half, Half)
LEARN_MSE(Half, float)
LEARN_MSE(BFloat16, BFloat16)
LEARN_MSE(BFloat16, float)
#undef LEARN_MSE

}  // namespace learn::cpu
