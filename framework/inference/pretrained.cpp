#include "framework/inference/pretrained.h"

#include "framework/core/format.h"
#include "framework/core/log.h"
#include "framework/inference/saved_model.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <string>

namespace learn {
namespace {

void say_classes(const std::string& file, const ClassMatch& classes) {
  if (!classes.rows_taken) return;
  const char* const kLastLayer = "using the rows of the last layer in the order of the classes";
  if (classes.theirs.empty())
    log::warn("[model] '{}' does not name its classes: {}", file, kLastLayer);
  else if (classes.differs() && classes.found.empty())
    log::warn(
        "[model] '{}' shares no class with the data, so the last layer keeps its initial values: "
        "{}",
        file,
        classes.describe());
  else if (classes.differs())
    log::info("[model] {}", classes.describe());
}

/// Returns them in the form of `--normalize`.
std::string with_colons(std::string numbers) {
  std::ranges::replace(numbers, ' ', ':');
  return numbers;
}

void warn_of_normalization(const SafetensorsFile& file, const data::Loaders& data) {
  const auto said = file.metadata().find("learn.normalization");
  const std::string here =
      to_text(data::for_channels(data.normalization(), data.set().train.channels));
  if (said == file.metadata().end() || said->second == here) return;
  log::warn(
      "[model] '{0}' was trained with a different mean and standard deviation: {1}, here {2}; to "
      "use the same: --normalize {1}",
      file.path().string(),
      with_colons(said->second),
      with_colons(here));
}

}  // namespace

WeightsReport load_pretrained(const std::filesystem::path& path,
                              const nn::Model& model,
                              const data::Loaders& data) {
  const std::filesystem::path file = saved_weights(path);
  const WeightsReport report =
      load_weights(file, model, data.set().train.classes, WeightsMatch::partial);
  log::info("[model] {} tensors from '{}'", report.loaded, file.string());
  if (!report.clean())
    log::warn("[model] some tensors do not match and keep their initial values:{}",
              report.describe());
  say_classes(file.string(), report.classes);
  warn_of_normalization(SafetensorsFile(file), data);
  return report;
}

}  // namespace learn
