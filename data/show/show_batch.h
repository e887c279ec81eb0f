#pragma once
#include "data/loading/loader.h"
#include "framework/drawing/image_grid.h"

#include <cstdint>

namespace learn::data {

struct ShowBatchOptions {
  std::int64_t images = 12;   ///< fewer if a pass is shorter
  std::int64_t versions = 4;  ///< of each image, one per epoch, if it is augmented
  std::int64_t epoch = 0;     ///< the first one
};

/// Draws samples from a loader's first batches, with class names: each image as stored in the set
/// and, next to it, as the model receives it in successive epochs, with the same random numbers as
/// in a training, normalization undone. A loader that does not augment shows each image once. For a
/// loader that does not shuffle, the images are taken from all over the set, because images of a
/// class often follow one another. Neither runs the loader nor moves its position. Throws
/// UsageError unless images and versions are at least 1, and for a set of features.
[[nodiscard]] plot::ImageGrid show_batch(const Loader& loader,
                                         const ShowBatchOptions& options = {});

/// Returns "pad|crop|flip|cutout:length=4", as a user would write it; empty for no transforms.
[[nodiscard]] std::string describe(const std::vector<Transform>& transforms);

}  // namespace learn::data
