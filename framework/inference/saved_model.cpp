#include "framework/inference/saved_model.h"

#include "framework/core/error.h"
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

}  // namespace

nn::Model SavedModel::make() const {
  return models::make_model(
      Spec::parse(model),
      {.classes = static_cast<int>(classes.size()), .input = {input.height, input.width, 3}});
}

SavedModel saved_model(const SafetensorsFile& file) {
  return {.model = saved_value(file, "learn.model"),
          .classes = lines_of(saved_value(file, "learn.classes")),
          .input = image_size_from(saved_value(file, "learn.input")),
          .normalization = normalization_from(saved_value(file, "learn.normalization"))};
}

void describe_model(const SavedModel& model, Metadata& metadata) {
  metadata["learn.model"] = model.model;
  metadata["learn.classes"] = join(model.classes, "\n");
  metadata["learn.input"] = fmt::format("{} {} 3", model.input.height, model.input.width);
  metadata["learn.normalization"] = to_text(model.normalization);
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

data::Normalization normalization_from(const std::string& text) {
  data::Normalization n;
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  if (!(in >> n.mean[0] >> n.mean[1] >> n.mean[2] >> n.std[0] >> n.std[1] >> n.std[2]))
    fail<CheckpointError>("'{}' is not a normalization: expected six numbers", text);
  if (!std::ranges::all_of(n.std, [](float s) { return s > 0 && std::isfinite(s); }))
    fail<CheckpointError>(
        "'{}' is not a normalization: a standard deviation must be above 0 and finite", text);
  return n;
}

data::ImageSize image_size_from(const std::string& input) {
  constexpr std::int64_t kLargest = 1 << 16;
  data::ImageSize size;
  std::int64_t channels = 0;
  std::istringstream in(input);
  in.imbue(std::locale::classic());
  const auto fits = [](std::int64_t side) { return side >= 1 && side <= kLargest; };
  if (!(in >> size.height >> size.width >> channels) || !fits(size.height) || !fits(size.width) ||
      channels != 3)
    fail<CheckpointError>("'{}' is no shape of an image: expected height, width and 3", input);
  return size;
}

}  // namespace learn
