#include "framework/kernels/conv/cuda/conv_problem.h"

#include "framework/core/fnv1a.h"
#include "framework/kernels/common/padded_channels.h"

#include <fmt/core.h>

#include <array>

namespace learn::cuda::cudnn {

std::string ConvProblem::text() const {
  const ConvGeometry& g = geometry;
  const Conv2dOptions& o = g.options;
  return fmt::format(
      "{} {} x({},{},{},{}) w({},{},{},{}) y({},{},{},{}) stride {},{} pad {},{},{},{} groups "
      "{}{}{}{}",
      name_of(pass),
      name_of(dtype),
      g.n,
      g.h,
      g.w,
      g.c,
      g.k,
      g.r,
      g.s,
      g.group_c(),
      g.n,
      g.p,
      g.q,
      g.k,
      o.stride_h,
      o.stride_w,
      o.pad_top,
      o.pad_bottom,
      o.pad_left,
      o.pad_right,
      o.groups,
      bias ? " bias" : "",
      accumulate ? " accumulate" : "",
      winograd ? "" : " without winograd");
}

std::size_t ConvProblemHash::operator()(const ConvProblem& problem) const noexcept {
  const ConvGeometry& g = problem.geometry;
  const Conv2dOptions& o = g.options;
  // p and q follow from the other sizes.
  const std::array values{static_cast<std::int64_t>(problem.pass),
                          static_cast<std::int64_t>(problem.dtype),
                          static_cast<std::int64_t>(problem.bias),
                          static_cast<std::int64_t>(problem.accumulate),
                          static_cast<std::int64_t>(problem.winograd),
                          g.n,
                          g.h,
                          g.w,
                          g.c,
                          g.k,
                          g.r,
                          g.s,
                          o.stride_h,
                          o.stride_w,
                          o.pad_top,
                          o.pad_left,
                          o.groups};
  return fnv1a_words(values);
}

ConvGeometry padded_geometry(const ConvGeometry& geometry, DType dtype) {
  ConvGeometry padded = geometry;
  if (!is_half(dtype) || geometry.options.groups != 1) return padded;
  padded.c = padded_half_channels(geometry.c);
  padded.k = padded_half_channels(geometry.k);
  return padded;
}

}  // namespace learn::cuda::cudnn
