#include "data/dataset_image.h"

#include "framework/core/error.h"

namespace learn::data {

plot::Image image_of(const Dataset& dataset, std::int64_t i) {
  check<UsageError>(i >= 0 && i < dataset.size(),
                    "'{}' has {} images, there is no image {}",
                    dataset.name,
                    dataset.size(),
                    i);
  const auto pixels = dataset.image(i);
  return {static_cast<int>(dataset.width),
          static_cast<int>(dataset.height),
          {pixels.begin(), pixels.end()}};
}

std::string title_of(const Dataset& dataset) {
  const bool unsaid = dataset.synthetic && dataset.name.find("synthetic") == std::string::npos;
  return dataset.name + (unsaid ? " (synthetic)" : "");
}

}  // namespace learn::data
