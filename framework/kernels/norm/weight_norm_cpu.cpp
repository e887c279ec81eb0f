#include "framework/kernels/common/cpu/lane_sum.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/norm/weight_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace learn::cpu {

using kernels::WeightNormArgs;
using kernels::WeightNormBackwardArgs;

namespace {

constexpr std::int64_t kLanes = 64;  // four vectors of the widest kind: additions overlap

/// Returns the minimum number of rows per thread: about 16384 elements.
[[nodiscard]] std::int64_t grain_for(std::int64_t columns) {
  return std::max<std::int64_t>(1, 16384 / columns);
}

/// Returns the sum of a[i] * b[i].
template <class T>
[[nodiscard]] float dot(const T* a, const T* b, std::int64_t n) {
  return lane_sum<kLanes>(n, [=](std::int64_t i) { return as_float(a[i]) * as_float(b[i]); });
}

}  // namespace

template <class T>
void weight_norm_forward(const Exec& exec, const WeightNormArgs<T>& args) {
  simd::parallel_for(exec.threads,
                     args.rows,
                     grain_for(args.columns),
                     [n = args.columns, all = args.v, g = args.g, w = args.w, norms = args.norms](
                         std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                         const T* v = all + row * n;
                         const float norm = std::sqrt(dot(v, v, n));
                         const float factor = g[row] / norm;
                         norms[row] = norm;
                         T* out = w + row * n;
                         LEARN_VECTORIZE
                         for (std::int64_t i = 0; i < n; ++i)
                           out[i] = from_float<T>(factor * as_float(v[i]));
                       }
                     });
}

template <class T>
void weight_norm_backward(const Exec& exec, const WeightNormBackwardArgs<T>& args) {
  simd::parallel_for(
      exec.threads,
      args.rows,
      grain_for(args.columns),
      [n = args.columns,
       all = args.v,
       dws = args.dw,
       g = args.g,
       norms = args.norms,
       dvs = args.dv,
       dg = args.dg,
       add_dv = args.dv_mode == GradMode::accumulate,
       add_dg = args.dg_mode == GradMode::accumulate](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const T* v = all + row * n;
          const T* dw = dws + row * n;
          const float norm = norms[row];
          const float length = dot(v, dw, n) / norm;
          if (dg != nullptr) dg[row] = (add_dg ? dg[row] : 0.0F) + length;
          if (dvs == nullptr) continue;
          T* dv = dvs + row * n;
          const float factor = g[row] / norm;
          const float along = length / norm;
          const auto value = [=](std::int64_t i) {
            return factor * (as_float(dw[i]) - along * as_float(v[i]));
          };
          if (add_dv) {
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < n; ++i) dv[i] = from_float<T>(as_float(dv[i]) + value(i));
          } else {
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < n; ++i) dv[i] = from_float<T>(value(i));
          }
        }
      });
}

#define LEARN_INSTANTIATE(T)                                                \
  template void weight_norm_forward(const Exec&, const WeightNormArgs<T>&); \
  template void weight_norm_backward(const Exec&, const WeightNormBackwardArgs<T>&);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
