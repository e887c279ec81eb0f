#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cpu/conv_few.h"
#include "tests/autograd/conv_paths.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::kernels;

namespace {

ConvGeometry geometry(const Shape& x,
                      std::int64_t k,
                      std::int64_t window,
                      const Conv2dOptions& options) {
  return conv2d_geometry(x, {k, window, window, x[3]}, options);
}

}  // namespace

TEST_CASE("few results agree with the reference for every instruction set") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  const Conv2dOptions product = Conv2dOptions::symmetric(1, 0);
  const Conv2dOptions uneven{.stride_w = 2, .pad_top = 2, .pad_right = 3};
  // Products of 1 to 16 rows; a last tile of 1, 2 and 3 results; several tasks; windows in the
  // padding, that share pixels, and that leave some out.
  for (const ConvGeometry& g : {geometry({1, 1, 1, 16}, 1, 1, product),
                                geometry({3, 1, 1, 1024}, 70, 1, product),
                                geometry({16, 1, 1, 48}, 33, 1, product),
                                geometry({9, 1, 1, 2048}, 40, 1, product),
                                geometry({1, 4, 4, 64}, 95, 3, same),
                                geometry({4, 2, 2, 80}, 5, 3, same),
                                geometry({2, 7, 5, 16}, 34, 3, Conv2dOptions::symmetric(3, 0)),
                                geometry({1, 2, 4, 32}, 17, 3, uneven),
                                geometry({1, 4, 6, 16}, 8, 2, Conv2dOptions::symmetric(2, 0)),
                                geometry({5, 1, 1, 32}, 6, 3, same)}) {
    REQUIRE(cpu::has_few_results(g));
    // Sums of at most 2,048 terms: eps * sqrt(2048) is 3e-6.
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      test::check_path(cpu::kFewPath, g, mode, 1e-5);
  }
}

TEST_CASE("few results are at most sixteen of one group whose channels fill vectors") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  CHECK(cpu::has_few_results(geometry({1, 4, 4, 32}, 8, 3, same)));
  CHECK(cpu::has_few_results(geometry({2, 8, 4, 32}, 8, 3, Conv2dOptions::symmetric(2, 1))));
  CHECK_FALSE(cpu::has_few_results(geometry({1, 4, 5, 32}, 8, 3, same)));
  CHECK_FALSE(cpu::has_few_results(geometry({1, 2, 2, 24}, 8, 3, same)));
  CHECK_FALSE(cpu::has_few_results(
      conv2d_geometry({1, 2, 2, 32}, {8, 3, 3, 16}, Conv2dOptions::symmetric(1, 1, 2))));
}
