#pragma once
#include "apps/experiment/options.h"

#include <cstdint>
#include <string>

namespace learn::bench {

/// The model and images of a measured step.
struct Workload {
  std::string model = "resnet9";
  std::int64_t width = 0;  ///< 0: the model's default
  std::int64_t batch = 64;
  std::int64_t image_size = 32;  ///< pixels on a side
};

/// Declares its options.
inline void declare_workload(OptionTable& table, Workload& w) {
  table.text("model", w.model, "NAME[:OPTION=VALUE,...]", "model of the registry");
  table.number("width", w.width, kNotNegative, "N", "width of the model; 0: its default");
  table.number("batch", w.batch, {.low = 1, .high = 65536}, "N", "images per step");
  table.number(
      "image-size", w.image_size, {.low = 8, .high = 4096}, "N", "pixels on each side of an image");
}

}  // namespace learn::bench
