// A folder of images to try things with, as one of one's own would be: make_images FOLDER writes
// FOLDER/train/CLASS/NUMBER.png and FOLDER/test/..., drawn shapes of three kinds.
#include "data/synthetic10.h"
#include "framework/report/png.h"

#include <fmt/core.h>

#include <filesystem>

using namespace learn;

int write_split(const std::filesystem::path& folder, data::Split split, std::int64_t count) {
  const data::Dataset drawn = data::synthetic10({.split = split, .count = count});
  int written = 0;
  for (std::int64_t i = 0; i < drawn.size(); ++i) {
    const std::string& name = drawn.classes[static_cast<std::size_t>(drawn.labels[i])];
    if (name != "bars" && name != "cross" && name != "ring") continue;
    std::filesystem::create_directories(folder / name);
    write_png(folder / name / fmt::format("{:04}.png", i), 32, 32, drawn.image(i));
    ++written;
  }
  return written;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_images FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const int train = write_split(folder / "train", data::Split::train, 3200);
  const int test = write_split(folder / "test", data::Split::test, 500);
  fmt::print("{}: {} training and {} test images\n", folder.string(), train, test);
}
