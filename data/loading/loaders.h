#pragma once
#include "data/loading/loader.h"
#include "data/sets/registry.h"

#include <optional>
#include <string>
#include <string_view>

namespace learn::data {

/// How the batches of a data set are made.
struct LoadersOptions {
  /// Augmentation of the training images, by a name for `augmentation`; none for features.
  /// `loader.transforms`, if set, replace it.
  std::string augment = "basic";
  /// Default: CIFAR-10's published one for that set, else measured on the training images.
  std::optional<Normalization> normalization;
  /// For both, but that training shuffles or samples, and augments, and validation does neither.
  LoaderOptions loader;
};

/// A data set with its two loaders: what a Learner takes, and what a model is made for.
class Loaders {
 public:
  /// The whole of what `load` finds under that name or path. Throws as `load` and `Loader`.
  Loaders(Context& ctx, std::string_view name, LoadersOptions options = {});
  /// A part of it, say: `Loaders(ctx, load("cifar10", {.train_limit = 5000}))`.
  Loaders(Context& ctx, DataPair set, LoadersOptions options = {});
  ~Loaders() = default;
  Loaders(const Loaders&) = delete;
  Loaders& operator=(const Loaders&) = delete;

  [[nodiscard]] const DataPair& set() const noexcept { return set_; }
  [[nodiscard]] const Normalization& normalization() const noexcept { return normalization_; }
  [[nodiscard]] Loader& train() noexcept { return train_; }
  [[nodiscard]] const Loader& train() const noexcept { return train_; }
  [[nodiscard]] Loader& valid() noexcept { return valid_; }
  operator BatchSources() & noexcept { return {train_, valid_}; }  // not explicit: it is that
  operator BatchSources() && = delete;  // they would be gone before the learner is

 private:
  DataPair set_;
  Normalization normalization_;
  Loader train_, valid_;
};

}  // namespace learn::data
