#include "framework/inference/saved_model.h"

#include "framework/core/error.h"
#include "framework/core/printable.h"
#include "framework/core/suggest.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

namespace learn {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

[[noreturn]] void refuse(const SafetensorsFile& file,
                         const char* key,
                         const std::string& value,
                         const char* why,
                         SourceLocation at = SourceLocation::current()) {
  fail_from<CheckpointError>(at,
                             "'{}' says that its '{}' is '{}', {}",
                             file.path().string(),
                             key,
                             printable_line(value),
                             why);
}

/// Reads the numbers that are all of `text`.
template <class... Numbers>
bool read_numbers(const std::string& text, Numbers&... numbers) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  return (in >> ... >> numbers) && (in >> std::ws).eof();
}

data::Normalization normalization_of(const SafetensorsFile& file) {
  constexpr const char* kKey = "learn.normalization";
  const std::string text = saved_value(file, kKey);
  data::Normalization n;
  auto& [mean, std] = n;
  if (!read_numbers(text, mean[0], mean[1], mean[2], std[0], std[1], std[2]))
    refuse(file, kKey, text, "which is no normalization: expected six numbers");
  if (!std::ranges::all_of(std, [](float s) { return s > 0 && std::isfinite(s); }))
    refuse(file, kKey, text, "where a standard deviation is not above 0 and finite");
  return n;
}

data::ImageSize input_of(const SafetensorsFile& file) {
  constexpr const char* kKey = "learn.input";
  constexpr std::int64_t kLargest = 1 << 16;
  const std::string text = saved_value(file, kKey);
  data::ImageSize size;
  std::int64_t channels = 0;
  const auto fits = [](std::int64_t side) { return side >= 1 && side <= kLargest; };
  if (!read_numbers(text, size.height, size.width, channels) || !fits(size.height) ||
      !fits(size.width) || channels != 3)
    refuse(file, kKey, text, "which is no shape of an image: expected height, width and 3");
  return size;
}

constexpr const char* kTargets = "learn.targets";

/// Not said by those that tell classes apart.
data::TargetKind target_kind_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find(kTargets);
  if (found == file.metadata().end()) return data::TargetKind::classes;
  if (found->second == "labels") return data::TargetKind::labels;
  if (found->second == "values") return data::TargetKind::values;
  refuse(file, kTargets, found->second, "which is neither labels nor values");
}

}  // namespace

void SavedModel::require_classes(std::string_view who) const {
  if (target_kind == data::TargetKind::classes) return;
  fail<UsageError>(
      "{} is for models that tell classes apart; '{}' was trained on {}",
      who,
      model,
      target_kind == data::TargetKind::labels ? "several labels for each sample" : "real targets");
}

nn::Model SavedModel::make() const {
  const models::Task task{.classes = static_cast<int>(classes.size()),
                          .input = {input.height, input.width, 3}};
  if (file.empty()) return models::make_model(model, task);
  try {
    return models::make_model(model, task);
  } catch (const Error& e) {
    fail<CheckpointError>("'{}' says that its 'learn.model' is '{}': {}",
                          file.string(),
                          printable_line(model),
                          printable_line(e.what()));
  }
}

SavedModel saved_model(const SafetensorsFile& file) {
  return {.model = saved_value(file, "learn.model"),
          .classes = lines_of(saved_value(file, "learn.classes")),
          .input = input_of(file),
          .normalization = normalization_of(file),
          .file = file.path(),
          .target_kind = target_kind_of(file)};
}

void describe_model(const SavedModel& model, Metadata& metadata) {
  metadata["learn.model"] = model.model;
  metadata["learn.classes"] = join(model.classes, "\n");
  metadata["learn.input"] = fmt::format("{} {} 3", model.input.height, model.input.width);
  metadata["learn.normalization"] = to_text(model.normalization);
  if (model.target_kind != data::TargetKind::classes)
    metadata[kTargets] = model.target_kind == data::TargetKind::labels ? "labels" : "values";
}

const std::string& saved_value(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail<CheckpointError>(
        "'{}' does not say its '{}': it was not written for an experiment of 'learn'",
        file.path().string(),
        key);
  return found->second;
}

std::string to_text(const data::Normalization& n) {
  return fmt::format(
      "{} {} {} {} {} {}", n.mean[0], n.mean[1], n.mean[2], n.std[0], n.std[1], n.std[2]);
}

}  // namespace learn
