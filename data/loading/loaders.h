#pragma once
#include "data/loading/loader.h"
#include "data/sets/registry.h"

#include <optional>
#include <string>
#include <string_view>

namespace learn::data {

/// Options for the batches of a data set.
struct LoadersOptions {
  /// Augmentation of the training images, a chain that `augmentation` accepts; ignored for
  /// features. If `loader.transforms` is not empty, it is used instead.
  std::string augment = "basic";
  /// Default: the published values for CIFAR-10, otherwise measured on the training images.
  std::optional<Normalization> normalization;
  /// Options of both loaders. Only the training loader shuffles or samples, and augments.
  LoaderOptions loader;
};

/// A data set with its two loaders, for a Learner, and the properties that a model is made for.
class Loaders {
 public:
  /// Loads the whole data set of that name or path. Throws as `load` and `Loader` do.
  Loaders(Context& ctx, std::string_view name, LoadersOptions options = {});
  /// Uses a loaded data set, for instance a part: `Loaders(ctx, load("cifar10", {.train_limit =
  /// 5000}))`.
  Loaders(Context& ctx, DataPair set, LoadersOptions options = {});
  ~Loaders() = default;
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;

  [[nodiscard]] const DataPair& set() const noexcept { return set_; }
  [[nodiscard]] const Normalization& normalization() const noexcept { return normalization_; }
  [[nodiscard]] Loader& train() noexcept { return train_; }
  [[nodiscard]] const Loader& train() const noexcept { return train_; }
  [[nodiscard]] Loader& valid() noexcept { return valid_; }
  operator BatchSources() & noexcept { return {train_, valid_}; }  // implicit on purpose
  operator BatchSources() && = delete;  // the loaders would be destroyed before the learner

 private:
  DataPair set_;
  Normalization normalization_;
  Loader train_, valid_;
};

}  // namespace learn::data
