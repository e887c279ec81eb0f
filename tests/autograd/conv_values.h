#pragma once
#include "framework/core/random.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "tests/support/op_case.h"

#include <fmt/core.h>

#include <string>
#include <vector>

/// Common code of the tests of convolutions.
namespace learn::test {

/// `n` values uniform in [-1, 1), their own for each stream.
[[nodiscard]] inline std::vector<float> draw(std::int64_t n, std::uint64_t stream) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Random4 r = random4(test_seed(), RandomPurpose::test, stream, i);
    values[i] = 2 * uniform01(r.v[0]) - 1;
  }
  return values;
}

/// All its sizes, for messages.
[[nodiscard]] inline std::string text_of(const ConvGeometry& g) {
  const Conv2dOptions& o = g.options;
  return fmt::format("{}x{}x{}x{} * {}x{}x{}x{} stride {},{} pad {},{},{},{} groups {}",
                     g.n,
                     g.h,
                     g.w,
                     g.c,
                     g.k,
                     g.r,
                     g.s,
                     g.group_c(),
                     o.stride_h,
                     o.stride_w,
                     o.pad_top,
                     o.pad_bottom,
                     o.pad_left,
                     o.pad_right,
                     o.groups);
}

}  // namespace learn::test
