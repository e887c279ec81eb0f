#include "framework/inference/saved_model.h"

#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/core/options/suggest.h"
#include "framework/core/printable.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

namespace learn {
namespace {

[[noreturn]] void refuse(const SafetensorsFile& file,
                         const char* key,
                         const std::string& value,
                         const char* why,
                         SourceLocation at = SourceLocation::current()) {
  fail_from<CheckpointError>(
      at, "'{}' records '{}' as '{}', {}", file.path().string(), key, printable_line(value), why);
}

/// The numbers that `text` is; nothing if it is anything else.
template <class Number>
std::vector<Number> numbers_of(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  std::vector<Number> numbers;
  for (Number number{}; in >> number;) numbers.push_back(number);
  in.clear();
  if (!(in >> std::ws).eof()) numbers.clear();
  return numbers;
}

/// Requires this number of channels.
data::Normalization normalization_of(const SafetensorsFile& file, std::int64_t channels) {
  constexpr const char* kKey = "learn.normalization";
  const std::string text = saved_value(file, kKey);
  const std::vector<float> numbers = numbers_of<float>(text);
  if (static_cast<std::int64_t>(numbers.size()) != 2 * channels)
    refuse(
        file,
        kKey,
        text,
        "which is not a normalization: expected a mean and a standard deviation for each channel");
  data::Normalization n{{numbers.begin(), numbers.begin() + channels},
                        {numbers.begin() + channels, numbers.end()}};
  if (!std::ranges::all_of(n.std, [](float s) { return s > 0 && std::isfinite(s); }))
    refuse(file, kKey, text, "which has a standard deviation that is not positive and finite");
  return n;
}

Shape input_of(const SafetensorsFile& file) {
  constexpr const char* kKey = "learn.input";
  constexpr std::int64_t kLargest = 1 << 16;
  const std::string text = saved_value(file, kKey);
  Shape shape;
  const std::vector<std::int64_t> numbers = numbers_of<std::int64_t>(text);
  for (const std::int64_t extent : numbers) shape.push_back(extent);
  const bool features = numbers.size() == 1;
  const bool fits =
      std::ranges::all_of(numbers, [](std::int64_t v) { return v >= 1 && v <= kLargest; });
  if (!fits || !(features || (numbers.size() == 3 && shape[2] <= data::kMaxChannels)))
    refuse(file,
           kKey,
           text,
           "which is not the shape of an image or of features: expected height, width and "
           "channels, or one number");
  return shape;
}

constexpr const char* kTargets = "learn.targets";
constexpr const char* kFeatures = "learn.features";

/// Missing for models of images.
std::vector<std::string> features_of(const SafetensorsFile& file, const Shape& input) {
  const auto found = file.metadata().find(kFeatures);
  if (found == file.metadata().end()) return {};
  std::vector<std::string> names = lines_of(found->second);
  if (input.rank() != 1 || static_cast<std::int64_t>(names.size()) != input[0])
    refuse(file, kFeatures, found->second, "which does not fit the model's input");
  return names;
}

/// Missing for models of classes.
data::TargetKind target_kind_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find(kTargets);
  if (found == file.metadata().end()) return data::TargetKind::classes;
  if (found->second == "labels") return data::TargetKind::labels;
  if (found->second == "values") return data::TargetKind::values;
  refuse(file, kTargets, found->second, "which is neither labels nor values");
}

}  // namespace

void SavedModel::require(TargetKind targets, std::string_view who) const {
  if (target_kind == targets) return;
  fail<UsageError>("{} is for models with {} as targets; those of '{}' are {}",
                   who,
                   to_text(targets),
                   model,
                   to_text(target_kind));
}

Shape SavedModel::input_shape() const {
  return data::SampleForm{input.height, input.width, channels}.shape();
}

nn::Model SavedModel::make() const {
  const models::Task task{.classes = static_cast<int>(classes.size()), .input = input_shape()};
  if (file.empty()) return models::make_model(model, task);
  try {
    return models::make_model(model, task);
  } catch (const Error& e) {
    fail<CheckpointError>("'{}' records 'learn.model' as '{}': {}",
                          file.string(),
                          printable_line(model),
                          printable_line(e.what()));
  }
}

SavedModel saved_model(const SafetensorsFile& file) {
  SavedModel out{.model = saved_value(file, "learn.model"),
                 .classes = lines_of(saved_value(file, "learn.classes")),
                 .input = {},
                 .normalization = {},
                 .file = file.path(),
                 .target_kind = target_kind_of(file)};
  const Shape input = input_of(file);
  out.channels = input[-1];
  if (input.rank() == 3) out.input = {input[0], input[1]};
  out.normalization = normalization_of(file, out.channels);
  out.features = features_of(file, input);
  return out;
}

void describe_model(const SavedModel& model, Metadata& metadata) {
  metadata["learn.model"] = model.model;
  metadata["learn.classes"] = join(model.classes, "\n");
  const Shape input = model.input_shape();
  metadata["learn.input"] = join(std::span(input.begin(), input.end()), " ");
  metadata["learn.normalization"] =
      to_text(data::for_channels(model.normalization, model.channels));
  if (!model.features.empty()) metadata[kFeatures] = join(model.features, "\n");
  if (model.target_kind != TargetKind::classes)
    metadata[kTargets] = metadata_name(model.target_kind);
}

std::string metadata_name(TargetKind targets) {
  if (targets == TargetKind::labels) return "labels";
  return targets == TargetKind::values ? "values" : "classes";
}

const std::string& saved_value(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail<CheckpointError>(
        "'{}' does not record '{}': it was not written by an experiment of 'learn'",
        file.path().string(),
        key);
  return found->second;
}

std::string to_text(const data::Normalization& n) {
  std::string text;
  for (const std::vector<float>& numbers : {n.mean, n.std})
    for (const float number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

}  // namespace learn
