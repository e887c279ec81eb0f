#pragma once
#include <cstdint>

namespace learn::callbacks {

struct MixOptions {
  double mixup = 0.2;  ///< a of MixUp's share, which is drawn from Beta(a, a); 0: no MixUp
  double cutmix = 1;   ///< a of CutMix's share; 0: no CutMix
  double p = 1;        ///< share of the batches that are mixed
  std::int64_t plain_epochs = 0;  ///< the last epochs of a fit, which mix nothing
};

/// How the samples of a batch are mixed with others.
struct MixDraw {
  /// CutMix's box of pixels, which is the other image's.
  struct Box {
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    friend bool operator==(const Box&, const Box&) = default;
  };
  bool boxed = false;  ///< CutMix, otherwise MixUp
  double own = 1;      ///< the sample's own share of its targets, and without a box of its values
  Box box;
};

/// Returns a number from Beta(a, a), a > 0, for (seed, batch), in double: from two Gamma variables
/// (Marsaglia & Tsang, "A simple method for generating gamma variables", 2000), whose ratio is
/// computed from their logarithms, because for a small `a` both may be too small for a double.
[[nodiscard]] double draw_beta(double a, std::uint64_t seed, std::uint64_t batch);

/// Returns CutMix's box around the centre (row, column) in an image of this size (timm's
/// rand_bbox): of sqrt(1 - share) times each side, rounded down, and clipped at the image's edges.
[[nodiscard]] MixDraw::Box box_around(
    std::int64_t row, std::int64_t column, double share, std::int64_t height, std::int64_t width);

/// Draws how to mix a batch of images of this size, or of other samples if MixUp is the only
/// choice. With both kinds, each is as likely as the other. CutMix's share is corrected for the
/// part of the box that was clipped.
[[nodiscard]] MixDraw draw_mix(const MixOptions& options,
                               std::uint64_t seed,
                               std::uint64_t batch,
                               std::int64_t height,
                               std::int64_t width);

}  // namespace learn::callbacks
