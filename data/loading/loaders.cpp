#include "data/loading/loaders.h"

#include "data/loading/augmentation.h"

#include <utility>

namespace learn::data {
namespace {

LoaderOptions for_training(const DataPair& set,
                           const Normalization& normalization,
                           const LoadersOptions& options) {
  LoaderOptions train = options.loader;
  train.shuffle = true;
  train.normalization = normalization;
  if (train.transforms.empty() && set.train.form().is_image())
    train.transforms = augmentation(options.augment, set.train.height, set.train.width);
  return train;
}

LoaderOptions for_validation(const Normalization& normalization, const LoadersOptions& options) {
  LoaderOptions valid = options.loader;
  valid.shuffle = false;
  valid.sampling.emplace<std::monostate>();
  valid.drop_last = false;
  valid.normalization = normalization;
  valid.transforms.clear();
  return valid;
}

Normalization usual_normalization(const Dataset& train) {
  return train.name == "cifar10" ? kCifarStats : measure(train);
}

}  // namespace

Loaders::Loaders(Context& ctx, std::string_view name, LoadersOptions options)
    : Loaders(ctx, load(name), std::move(options)) {}

Loaders::Loaders(Context& ctx, DataPair set, LoadersOptions options)
    : set_(std::move(set)),
      normalization_(options.normalization ? *options.normalization
                                           : usual_normalization(set_.train)),
      train_(ctx, set_.train, for_training(set_, normalization_, options)),
      valid_(ctx, set_.valid, for_validation(normalization_, options)) {}

}  // namespace learn::data
