// y = act(x) and dx (+)= dy * act'(x), element by element. Reads the operands once, 16 bytes per
// thread.
#include "framework/core/dtype.h"
#include "framework/kernels/activation/activation_kernels.h"
#include "framework/kernels/common/cuda/activation_functions.cuh"
#include "framework/kernels/common/cuda/map.cuh"

namespace learn::cuda {
namespace {

template <class Act>
struct Forward {
  Act act;
  __device__ float operator()(std::int64_t, float x) const { return act.value(x); }
};

template <class Act>
struct Backward {
  Act act;
  __device__ float operator()(std::int64_t, float x, float dy) const { return dy * act.slope(x); }
};

}  // namespace

template <class T>
void activation_forward(
    Stream stream, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  with_activation(kind, [&]<class Act>(Act act) {
    map("activation_forward", stream, n, Forward<Act>{act}, y, x);
  });
}

template <class T>
void activation_backward(Stream stream,
                         const ActivationKind& kind,
                         const T* x,
                         const T* dy,
                         T* dx,
                         GradMode mode,
                         std::int64_t n) {
  with_activation(kind, [&]<class Act>(Act act) {
    map("activation_backward", stream, mode, n, Backward<Act>{act}, dx, x, dy);
  });
}

#define LEARN_INSTANTIATE(T)                                                                   \
  template void activation_forward(Stream, const ActivationKind&, const T*, T*, std::int64_t); \
  template void activation_backward(                                                           \
      Stream, const ActivationKind&, const T*, const T*, T*, GradMode, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
