#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cpu/conv_grouped.h"
#include "tests/autograd/conv_paths.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::kernels;

namespace {

/// With windows of `window` x `window`; groups have `width` channels and as many results.
ConvGeometry geometry(const Shape& x,
                      std::int64_t window,
                      std::int64_t width,
                      Conv2dOptions options) {
  options.groups = x[3] / width;
  return conv2d_geometry(x, {x[3], window, window, width}, options);
}

}  // namespace

TEST_CASE("narrow groups agree with the reference for every instruction set") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  const Conv2dOptions strided = Conv2dOptions::symmetric(2, 1);
  const Conv2dOptions uneven{.stride_h = 3, .pad_top = 2, .pad_right = 2};
  const Conv2dOptions wide{.pad_top = 3, .pad_bottom = 4, .pad_left = 5, .pad_right = 3};
  // Whole vectors and parts of them: with 16, 8 and 4 lanes, 24, 19 and 5 channels end in a vector
  // that overlaps the one before. Windows larger than the map; a stride above the window; rows of
  // 8, 4, 2 and 1 neighbours; one image, and enough pixels for several tasks.
  for (const ConvGeometry& g : {geometry({2, 8, 8, 16}, 3, 1, same),
                                geometry({1, 9, 19, 24}, 3, 1, same),
                                geometry({2, 7, 6, 19}, 3, 1, strided),
                                geometry({2, 5, 5, 5}, 3, 1, same),
                                geometry({2, 3, 4, 20}, 7, 1, Conv2dOptions::symmetric(1, 3)),
                                geometry({1, 11, 9, 16}, 5, 1, Conv2dOptions::symmetric(2, 2)),
                                geometry({2, 9, 8, 33}, 2, 1, uneven),
                                geometry({1, 3, 3, 18}, 3, 1, wide),
                                geometry({2, 6, 7, 16}, 1, 1, Conv2dOptions::symmetric(2, 0)),
                                geometry({5, 24, 24, 40}, 3, 1, same),
                                geometry({2, 5, 6, 22}, 3, 2, same),
                                geometry({2, 6, 5, 20}, 3, 4, strided),
                                geometry({3, 9, 9, 24}, 3, 8, same),
                                geometry({2, 5, 5, 48}, 3, 16, strided)}) {
    // Sums of at most 144 terms, and of 2,880 pixels in parts of 224: eps * sqrt(224) is 2e-6.
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      test::check_path(cpu::kGroupedPath, g, mode, 5e-6, [&](const cpu::simd::Kernels& kernels) {
        return g.group_c() <= kernels.lanes && kernels.lanes <= g.c;
      });
  }
}

TEST_CASE("narrow groups are those that fill vectors with as many results as channels") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  const auto kernels_for = [&](const Shape& x, std::int64_t width) {
    return cpu::grouped_kernels(geometry(x, 3, width, same));
  };
  const cpu::simd::Kernels& best = cpu::simd::best_kernels();
  CHECK(kernels_for({1, 4, 4, 64}, 1) == &best);
  CHECK(kernels_for({1, 4, 4, best.lanes}, best.lanes / 2) == &best);
  CHECK(kernels_for({1, 4, 4, 4}, 1) == &cpu::simd::generic_kernels());
  CHECK(kernels_for({1, 4, 4, 3}, 1) == nullptr);    // no vector is that short
  CHECK(kernels_for({1, 4, 4, 64}, 64) == nullptr);  // one group
  CHECK(kernels_for({1, 4, 4, 128}, 64) == nullptr);
  CHECK(kernels_for({1, 4, 4, 24}, 3) == nullptr);
  CHECK(cpu::grouped_kernels(conv2d_geometry(
            {1, 4, 4, 16}, {32, 3, 3, 1}, Conv2dOptions::symmetric(1, 1, 16))) == nullptr);
}
