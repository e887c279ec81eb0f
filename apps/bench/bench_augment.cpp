// Times augmentation and normalization of images in memory on one thread. Prints a line of JSON.
#include "apps/bench/program.h"
#include "data/loading/augmentation.h"
#include "data/loading/pipeline.h"
#include "framework/core/random.h"
#include "framework/core/seconds_since.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Options {
  std::string chain = "basic";
  std::int64_t size = 32;
  double seconds = 1;
};

/// Smooth colours with noise, as in a photograph.
std::vector<std::uint8_t> image_of(std::int64_t size, std::uint64_t number) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < size; ++y)
    for (std::int64_t x = 0; x < size; ++x)
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::uint32_t word =
            random4(number, RandomPurpose::test, 0, static_cast<std::uint64_t>(pixels.size())).v[0];
        pixels.push_back(static_cast<std::uint8_t>((x * (c + 1) + y * 2) * 128 / size +
                                                   static_cast<std::int64_t>(word % 32)));
      }
  return pixels;
}

int run(const Options& o) {
  constexpr std::uint64_t kImages = 64;
  std::vector<std::vector<std::uint8_t>> originals;
  for (std::uint64_t i = 0; i < kImages; ++i) originals.push_back(image_of(o.size, i));
  const data::Pipeline pipeline(
      data::augmentation(o.chain, o.size, o.size), data::kCifarStats, {o.size, o.size, 3});
  data::Pipeline::Scratch scratch;
  std::vector<float> out(static_cast<std::size_t>(pipeline.out_shape().elements()));
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t images = 0;
  while (seconds_since(start) < o.seconds)
    for (const std::vector<std::uint8_t>& pixels : originals) {
      data::Image image{o.size, o.size, {}, 3};
      std::span<const std::uint8_t> from = pixels;
      if (pipeline.takes_whole_images()) {
        image.pixels = pixels;
        pipeline.transform_whole(image, 0, 0, images);
        from = image.pixels;
      }
      pipeline.run(from, 0, 0, images, out.data(), scratch);
      ++images;
    }
  fmt::print("{{\"images_per_second\": {:.0f}}}\n",
             static_cast<double>(images) / seconds_since(start));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  OptionTable options;
  options.group("Options");
  options.text("augment", o.chain, "CHAIN", "steps and lists of steps, as of 'learn train'");
  options.number("size", o.size, {.low = 8, .high = 4096}, "N", "pixels on each side");
  options.number("seconds", o.seconds, kPositive, "X", "how long to measure");
  return bench::run_program(argc,
                            argv,
                            "bench_augment",
                            "Measures the speed of augmentation on one thread",
                            options,
                            [&] { return run(o); });
}
