#include "framework/backend/cuda/activation.h"
#include "framework/backend/cuda/device/convert.cuh"
#include "framework/backend/cuda/device/elementwise.cuh"
#include "framework/backend/cuda/device/math.cuh"
#include "framework/backend/cuda/launch.cuh"
#include "framework/core/dtype.h"

namespace learn::backend::cuda {
namespace {

using device::kElementwiseThreads;
using device::kPack;
using device::Pack;

template <class T, class Act>
__global__ void activation_forward_packed(const Pack<T>* x,
                                          Pack<T>* y,
                                          std::int64_t packs,
                                          Act act) {
  device::for_each_element(packs, [&](std::int64_t i) {
    Pack<T> p = x[i];
    for (int k = 0; k < kPack<T>; ++k) p.v[k] = device::store<T>(act.value(device::load(p.v[k])));
    y[i] = p;
  });
}

template <class T, class Act>
__global__ void activation_forward_single(const T* x, T* y, std::int64_t n, Act act) {
  device::for_each_element(
      n, [&](std::int64_t i) { y[i] = device::store<T>(act.value(device::load(x[i]))); });
}

template <class T, class Act, bool accumulate>
__global__ void activation_backward_packed(
    const Pack<T>* x, const Pack<T>* dy, Pack<T>* dx, std::int64_t packs, Act act) {
  device::for_each_element(packs, [&](std::int64_t i) {
    const Pack<T> px = x[i];
    const Pack<T> pdy = dy[i];
    Pack<T> out;
    if constexpr (accumulate) out = dx[i];
    for (int k = 0; k < kPack<T>; ++k) {
      float g = device::load(pdy.v[k]) * act.slope(device::load(px.v[k]));
      if constexpr (accumulate) g += device::load(out.v[k]);
      out.v[k] = device::store<T>(g);
    }
    dx[i] = out;
  });
}

template <class T, class Act, bool accumulate>
__global__ void activation_backward_single(
    const T* x, const T* dy, T* dx, std::int64_t n, Act act) {
  device::for_each_element(n, [&](std::int64_t i) {
    float g = device::load(dy[i]) * act.slope(device::load(x[i]));
    if constexpr (accumulate) g += device::load(dx[i]);
    dx[i] = device::store<T>(g);
  });
}

template <class F>
void with_activation(const ActivationKind& kind, F&& f) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return f(device::Identity{});
    case ActivationKind::Name::relu:
      return f(device::Relu{});
    case ActivationKind::Name::leaky_relu:
      return f(device::LeakyRelu{kind.slope});
    case ActivationKind::Name::gelu:
      return f(device::Gelu{});
    case ActivationKind::Name::silu:
      return f(device::Silu{});
  }
}

template <class... P>
bool aligned16(const P*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

std::int64_t blocks_for(std::int64_t n) { return ceil_div(n, kElementwiseThreads); }

template <class T, class Act, bool accumulate>
void backward(Stream stream, const Act& act, const T* x, const T* dy, T* dx, std::int64_t n) {
  // The packed kernel takes the aligned bulk, the single one the tail, or everything if unaligned.
  const std::int64_t packs = aligned16(x, dy, dx) ? n / kPack<T> : 0;
  const std::int64_t done = packs * kPack<T>;
  launch("activation_backward_packed",
         activation_backward_packed<T, Act, accumulate>,
         blocks_for(packs),
         kElementwiseThreads,
         stream,
         reinterpret_cast<const Pack<T>*>(x),
         reinterpret_cast<const Pack<T>*>(dy),
         reinterpret_cast<Pack<T>*>(dx),
         packs,
         act);
  launch("activation_backward_single",
         activation_backward_single<T, Act, accumulate>,
         blocks_for(n - done),
         kElementwiseThreads,
         stream,
         x + done,
         dy + done,
         dx + done,
         n - done,
         act);
}

}  // namespace

template <class T>
void activation_forward(
    Stream stream, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  with_activation(kind, [&]<class Act>(Act act) {
    const std::int64_t packs = aligned16(x, y) ? n / kPack<T> : 0;
    const std::int64_t done = packs * kPack<T>;
    launch("activation_forward_packed",
           activation_forward_packed<T, Act>,
           blocks_for(packs),
           kElementwiseThreads,
           stream,
           reinterpret_cast<const Pack<T>*>(x),
           reinterpret_cast<Pack<T>*>(y),
           packs,
           act);
    launch("activation_forward_single",
           activation_forward_single<T, Act>,
           blocks_for(n - done),
           kElementwiseThreads,
           stream,
           x + done,
           y + done,
           n - done,
           act);
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
    if (mode == GradMode::accumulate)
      backward<T, Act, true>(stream, act, x, dy, dx, n);
    else
      backward<T, Act, false>(stream, act, x, dy, dx, n);
  });
}

#define LEARN_INSTANTIATE(T)                                                                   \
  template void activation_forward(Stream, const ActivationKind&, const T*, T*, std::int64_t); \
  template void activation_backward(                                                           \
      Stream, const ActivationKind&, const T*, const T*, T*, GradMode, std::int64_t);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::backend::cuda
