#pragma once
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// Elementwise kernels built from a function of one element.
namespace learn::cuda {

/// Computes y[i] (+)= f(i, in[i]...). The first `packs` threads process 16 bytes each. The others
/// process one element each: the tail after the packs, or everything where the arrays are not
/// aligned.
template <bool accumulate, class F, class Out, class... In>
__global__ void map_kernel(std::int64_t n, std::int64_t packs, F f, Out* y, const In*... in) {
  constexpr int kCount = device::kPack<Out, In...>;
  const std::int64_t thread = device::thread_index();
  if (thread < packs) {
    device::Pack<Out, kCount> out;
    if constexpr (accumulate) out = device::load_pack<kCount>(y, thread);
    [&](const device::Pack<In, kCount>... x) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        float value = f(thread * kCount + k, device::load(x.v[k])...);
        if constexpr (accumulate) value += device::load(out.v[k]);
        out.v[k] = device::store<Out>(value);
      }
    }(device::load_pack<kCount>(in, thread)...);
    device::store_pack(y, thread, out);
    return;
  }
  const std::int64_t i = packs * kCount + (thread - packs);
  if (i >= n) return;
  float value = f(i, device::load(in[i])...);
  if constexpr (accumulate) value += device::load(y[i]);
  y[i] = device::store<Out>(value);
}

/// Returns a grid with a thread for each of the `packs` among n elements and for each element of
/// the tail.
template <int count>
[[nodiscard]] Grid elementwise_grid(std::int64_t n, std::int64_t packs) {
  return thread_each(packs + (n - packs * count), device::kElementwiseThreads);
}

/// Computes y = f, or y += f, over n elements; `y` may be one of the inputs. `F` is called on the
/// device as f(index, values...) in f32.
template <bool accumulate, class F, class Out, class... In>
void map_as(const char* name, Stream stream, std::int64_t n, F f, Out* y, const In*... in) {
  constexpr int kCount = device::kPack<Out, In...>;
  const std::int64_t packs = device::packs_in<kCount>(n, y, in...);
  const auto kernel = map_kernel<accumulate, F, Out, In...>;
  launch(name, kernel, elementwise_grid<kCount>(n, packs), stream, n, packs, f, y, in...);
}

/// Computes y = f over n elements. It instantiates no accumulating kernel, for operations that
/// never add.
template <class F, class Out, class... In>
void map(const char* name, Stream stream, std::int64_t n, F f, Out* y, const In*... in) {
  map_as<false>(name, stream, n, f, y, in...);
}

/// Computes y (+)= f over n elements.
template <class F, class Out, class... In>
void map(
    const char* name, Stream stream, GradMode mode, std::int64_t n, F f, Out* y, const In*... in) {
  if (mode == GradMode::accumulate)
    map_as<true>(name, stream, n, f, y, in...);
  else
    map_as<false>(name, stream, n, f, y, in...);
}

}  // namespace learn::cuda
