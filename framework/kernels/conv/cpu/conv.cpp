#include "framework/kernels/conv/cpu/conv.h"

#include "framework/core/error.h"
#include "framework/kernels/common/cpu/as_float.h"
#include "framework/kernels/conv/cpu/conv_direct.h"
#include "framework/kernels/conv/cpu/conv_few.h"
#include "framework/kernels/conv/cpu/conv_grouped.h"
#include "framework/kernels/conv/cpu/conv_scatter.h"
#include "framework/kernels/conv/cpu/conv_tiles.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "framework/kernels/conv/cpu/winograd_tiles.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <concepts>

namespace learn::cpu {
namespace {

/// Calls `compute(f32 destination, mode)` and stores its result in `to`.
template <class T, class Compute>
void store_result(
    const ConvResources& on, T* to, std::int64_t n, GradMode mode, Compute&& compute) {
  if constexpr (std::same_as<T, float>) {
    compute(to, mode);
  } else {
    const FloatWorkspace sums(on.workspace, n);
    compute(sums.data(), GradMode::overwrite);
    cast(on.threads, sums.data(), to, mode, n);
  }
}

enum class ConvPass : std::uint8_t { forward, backward_data, backward_weight };

/// Returns whether Winograd is faster, as measured (ADR 0005). That is so on maps of at least 4x4
/// with enough tiles to pay for the transformation of the weights, which multiplies their number by
/// four, unless they are kept. A window that moves by two pixels saves less, which more weights or
/// half-empty tiles cost.
bool use_winograd(const ConvResources& on, const ConvGeometry& g, ConvPass pass) {
  if (!on.winograd || g.p < 4 || g.q < 4) return false;
  const simd::Winograd* const variant = winograd_variant(on.kernels, g);
  if (variant == nullptr) return false;
  constexpr std::int64_t kSmallWeights = 64LL * 64;    // transformed in the second-level cache
  constexpr std::int64_t kLargeWeights = 256LL * 512;  // 19 MB transformed, exceeds the caches
  const TiledImages results = forward_tiles(*variant, g).to;
  const std::int64_t tiles = results.tiles();
  const std::int64_t weights = g.group_c() * g.group_k();
  if (variant->stride > 1 && 7 * tiles * results.pixels() > 8 * g.n * g.p * g.q) return false;
  if (weights <= kSmallWeights || on.prepared != nullptr) return tiles >= 4;
  if (variant->stride > 1) return tiles >= 48;
  return tiles >= (weights > kLargeWeights && pass == ConvPass::backward_weight ? 20 : 9);
}

/// Returns whether all taps are columns of one product for this pass.
bool use_scatter(const ConvGeometry& g, ConvPass pass) {
  return pass == ConvPass::backward_data && has_few_channels(g);
}

/// Returns whether products of halves are faster. Without a matrix unit they take half the time of
/// f32's; Winograd takes a quarter at stride 1, and 9/16 at stride 2.
bool use_tiles(const ConvResources& on, const ConvGeometry& g, ConvPass pass) {
  if (on.tiles == nullptr || grouped_kernels(g) != nullptr || !tiles_apply(g)) return false;
  if (on.tiles->faster_than_winograd) return true;
  return !use_scatter(g, pass) && (g.options.stride_h > 1 || !use_winograd(on, g, pass));
}

const ConvPath& fastest_path(const ConvResources& on, const ConvGeometry& g, ConvPass pass) {
  if (on.prepared == nullptr && has_few_results(g)) return kFewPath;
  if (use_scatter(g, pass)) return kScatterPath;
  return use_winograd(on, g, pass) ? kWinogradPath : kDirectPath;
}

ConvResources resources(const Exec& exec, const ConvGeometry& g) {
  const simd::Kernels* const grouped = grouped_kernels(g);
  return {exec.threads,
          exec.workspace,
          grouped != nullptr ? *grouped : simd::best_kernels(),
          simd::best_tile_kernels(),
          exec.winograd,
          exec.prepared};
}

}  // namespace

template <class T>
void conv2d_forward(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  ConvResources on = resources(exec, g);
  if constexpr (std::same_as<T, BFloat16>)
    if (use_tiles(on, g, ConvPass::forward)) return tiles_forward(on, g, x, weight, bias, y);
  if (grouped_kernels(g) != nullptr) return grouped_forward<T>(on, g, x, weight, bias, y, nullptr);
  const AsFloat<T> xf(on.threads, on.workspace, x, g.x_elements());
  const AsFloat<T> wf(on.threads, on.workspace, weight, g.weight_elements());
  const AsFloat<T> bf(on.threads, on.workspace, bias, g.k);
  if constexpr (!std::same_as<T, float>) on.prepared = nullptr;  // wf is a copy made for this call
  store_result(on, y, g.y_elements(), GradMode::overwrite, [&](float* to, GradMode) {
    fastest_path(on, g, ConvPass::forward)
        .forward(on, g, xf.data(), wf.data(), bf.data(), to, nullptr);
  });
}

void conv2d_forward(const Exec& exec,
                    const ConvGeometry& g,
                    const float* x,
                    const float* weight,
                    const float* bias,
                    float* y,
                    const ConvEpilogue& epilogue) {
  const ConvResources on = resources(exec, g);
  const bool grouped = grouped_kernels(g) != nullptr;
  (grouped ? kGroupedPath : fastest_path(on, g, ConvPass::forward))
      .forward(on, g, x, weight, bias, y, &epilogue);
}

template <class T>
void conv2d_backward_data(
    const Exec& exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode) {
  if (g.weight_elements() == 0) {  // no channels
    if (mode == GradMode::overwrite) std::fill_n(dx, g.x_elements(), from_float<T>(0));
    return;
  }
  const ConvResources on = resources(exec, g);
  if constexpr (std::same_as<T, BFloat16>)
    if (use_tiles(on, g, ConvPass::backward_data))
      return tiles_backward_data(on, g, dy, weight, dx, mode);
  if (grouped_kernels(g) != nullptr) return grouped_backward_data(on, g, dy, weight, dx, mode);
  const AsFloat<T> dyf(on.threads, on.workspace, dy, g.y_elements());
  const AsFloat<T> wf(on.threads, on.workspace, weight, g.weight_elements());
  store_result(on, dx, g.x_elements(), mode, [&](float* to, GradMode m) {
    fastest_path(on, g, ConvPass::backward_data).backward_data(on, g, dyf.data(), wf.data(), to, m);
  });
}

template <class T>
void conv2d_backward_weight(
    const Exec& exec, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode) {
  if (exec.prepared != nullptr)
    fail<UsageError>("a gradient of weights that are constant by ContextOptions::constant_weights");
  if (g.weight_elements() == 0) return;  // no channels
  const ConvResources on = resources(exec, g);
  if constexpr (std::same_as<T, BFloat16>)
    if (use_tiles(on, g, ConvPass::backward_weight))
      return tiles_backward_weight(on, g, x, dy, dw, mode);
  if (grouped_kernels(g) != nullptr) return grouped_backward_weight(on, g, x, dy, dw, mode);
  const AsFloat<T> xf(on.threads, on.workspace, x, g.x_elements());
  const AsFloat<T> dyf(on.threads, on.workspace, dy, g.y_elements());
  store_result(on, dw, g.weight_elements(), mode, [&](float* to, GradMode m) {
    fastest_path(on, g, ConvPass::backward_weight)
        .backward_weight(on, g, xf.data(), dyf.data(), to, m);
  });
}

#define LEARN_INSTANTIATE(T)                                               \
  template void conv2d_forward(                                            \
      const Exec&, const ConvGeometry&, const T*, const T*, const T*, T*); \
  template void conv2d_backward_data(                                      \
      const Exec&, const ConvGeometry&, const T*, const T*, T*, GradMode); \
  template void conv2d_backward_weight(                                    \
      const Exec&, const ConvGeometry&, const T*, const T*, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
