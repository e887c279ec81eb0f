#include "data/sets/fixed_parts.h"

#include "data/images/resize.h"
#include "framework/core/error.h"
#include "framework/core/log.h"

#include <algorithm>
#include <utility>

namespace learn::data {

DataPair for_evaluation(Dataset test, const DataOptions& options) {
  for (const std::string& name : options.classes)
    if (std::ranges::find(test.classes, name) == test.classes.end())
      fail<DataError>("the model has a class '{}' that '{}' lacks: its classes are {}",
                      name,
                      test.name,
                      join(test.classes));
  if (test.classes != options.classes) test = only_classes(test, options.classes);
  test = limited(std::move(test), options.valid_limit);
  const ImageSize size{test.height, test.width};
  if (size != *options.evaluation)
    log::info("[data] scaled the {} images of '{}' from {}x{} to the model's input, {}x{}",
              test.size(),
              test.name,
              size.width,
              size.height,
              options.evaluation->width,
              options.evaluation->height);
  return {{}, resized(std::move(test), *options.evaluation)};
}

DataPair limited(DataPair pair, const DataOptions& options) {
  pair.train = limited(std::move(pair.train), options.train_limit);
  pair.valid = limited(std::move(pair.valid), options.valid_limit);
  return pair;
}

DataPair narrowed(Dataset train, Dataset valid, const DataOptions& options) {
  if (!options.classes.empty()) {
    train = only_classes(train, options.classes);
    valid = only_classes(valid, options.classes);
  }
  return limited({std::move(train), std::move(valid)}, options);
}

}  // namespace learn::data
