#pragma once
#include "data/loading/loader.h"
#include "framework/drawing/image_grid.h"

#include <cstdint>

namespace learn::data {

struct ShowBatchOptions {
  std::int64_t images = 12;   ///< fewer if a pass has not as many
  std::int64_t versions = 4;  ///< of each image, in as many epochs, if it is augmented
  std::int64_t epoch = 0;     ///< the first of them
};

/// The first batches of a loader, with class names: each original image, and next to it what the
/// model gets in each epoch, with the same random numbers as in a training, normalisation undone.
/// Of a loader that does not augment each image once; of one that does not shuffle images from all
/// over the set, as those of a class often follow one another. Neither runs the loader nor moves
/// its position. Throws UsageError unless images and versions are at least 1, and for a set of
/// features.
[[nodiscard]] plot::ImageGrid show_batch(const Loader& loader,
                                         const ShowBatchOptions& options = {});

/// "pad 4 (reflected), random crop, flip left-right, cutout 8"; empty for none.
[[nodiscard]] std::string describe(const std::vector<Transform>& transforms);

}  // namespace learn::data
