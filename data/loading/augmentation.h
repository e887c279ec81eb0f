#pragma once
#include "data/loading/transforms.h"
#include "framework/core/options/registry.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Augmentation as text: "basic", or a chain such as "resized_crop:scale=0.3:1|flip|erase:p=0.25".
namespace learn::data {

/// Makes steps for images of which the shorter side has this many pixels.
using AugmentationRegistry = Registry<std::vector<Transform>(std::int64_t side)>;

/// Returns all steps and all usual lists of steps by name. "none"; "basic" pads by an eighth (4
/// pixels of 32, reflected), crops the original size at random and flips, as fastai's notebooks do
/// for CIFAR; "full" adds one cutout of a quarter (8 of 32); "airbench" shifts by up to a sixteenth
/// and alternates the flip; "imagenet" is a resized crop and a flip; "torchvision" adds a trivial
/// augment and erases a tenth of the images, as the recipe of torchvision's newer weights.
[[nodiscard]] AugmentationRegistry augmentation_registry();

/// Returns the steps of a chain, whose parts are steps and lists with '|' between them, for images
/// of this size. Throws UsageError as the registry does, and for an empty part.
[[nodiscard]] std::vector<Transform> augmentation(std::string_view chain,
                                                  std::int64_t height,
                                                  std::int64_t width);

/// Returns the text of a step with the options that differ from the defaults; nothing for a custom
/// step.
[[nodiscard]] std::optional<Spec> spec_of(const Transform& step);

}  // namespace learn::data
