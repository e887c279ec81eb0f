#pragma once
#include "framework/core/options/registry.h"
#include "framework/interfaces/batch.h"
#include "framework/nn/model.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::models {

/// The task of a model.
struct Task {
  int classes = 10;
  Shape input{32, 32, 3};  ///< one sample: an image (H,W,C), or of some models features (F)
};

/// Limit of the width of layers, in channels or units. Beyond it memory does not suffice and
/// products of sizes overflow.
inline constexpr Range kWidth{.low = 1, .high = 1 << 16};

using ModelRegistry = Registry<nn::Model(const Task&)>;

/// Every model by name. To add one, put NAME.h and NAME.cpp into this folder, with a function
/// `register_NAME(ModelRegistry&)` that adds it: the build finds it.
[[nodiscard]] ModelRegistry model_registry();

/// The model that a spec describes, "small" or "wrn_22:width=4,dropout=0.3"; its parameters have no
/// memory yet. Throws UsageError for an unknown name or option, and for samples the model cannot
/// take.
[[nodiscard]] nn::Model make_model(std::string_view spec, const Task& task = {});
[[nodiscard]] nn::Model make_model(const Spec& spec, const Task& task);

/// The task for the samples and classes of a data source. Throws UsageError for a source that does
/// not provide them.
[[nodiscard]] nn::Model make_model(std::string_view spec, const BatchSources& data);

/// For registrations. Throws UsageError for samples other than images (H,W,C) whose sides have at
/// least `smallest` pixels.
void check_images(const std::string& name, const Shape& input, std::int64_t smallest = 1);

/// For registrations: `M`, constructed from `options`, as the model `name` that can be split where
/// `split` says. It starts with a convolution, so it accepts padded channels.
template <class M, class Options>
[[nodiscard]] nn::Model make_convolutional(std::string name,
                                           const Task& task,
                                           std::vector<std::string> split,
                                           Options options) {
  check_images(name, task.input);
  options.channels = task.input[2];
  options.classes = task.classes;
  nn::Model model = nn::make_model<M>(std::move(name), task.input, task.classes, options);
  model.split = std::move(split);
  model.takes_padding = true;
  return model;
}

}  // namespace learn::models
