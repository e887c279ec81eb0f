#pragma once
#include "data/dataset.h"
#include "data/images/image.h"
#include "data/loading/pipeline.h"

#include <cstdint>
#include <span>
#include <vector>

namespace learn::data {

/// Scratch memory that one thread reuses from sample to sample.
struct SampleScratch {
  Pipeline::Scratch pipeline;
  std::vector<std::uint8_t> pixels;
};

/// The key of a sample's random steps.
struct SampleDraw {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t number =
      0;  ///< index of the draw in its pass, as a sample may be drawn several times
};

/// Runs `pipeline`, which is for samples of the form of `dataset`, on one sample in any storage,
/// and writes the result to `out`. Throws as ImageSource::read and as the steps do.
template <class T>
void prepare_sample(const Pipeline& pipeline,
                    const Dataset& dataset,
                    std::int64_t sample,
                    const SampleDraw& draw,
                    T* out,
                    SampleScratch& scratch) {
  const auto run = [&](auto values) {
    pipeline.run(values, draw.seed, draw.epoch, draw.number, out, scratch.pipeline);
  };
  if (!dataset.features.empty()) {
    run(dataset.features_of(sample));
  } else if (pipeline.takes_whole_images()) {
    Image image = dataset.whole_image(sample);
    pipeline.transform_whole(image, draw.seed, draw.epoch, draw.number);
    run(std::span<const std::uint8_t>(image.pixels));
  } else {
    run(dataset.read_image(sample, scratch.pixels));
  }
}

}  // namespace learn::data
