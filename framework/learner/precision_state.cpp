#include "framework/learner/precision_state.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn {

float continued_scale(const PrecisionState& own, const std::optional<float>& saved) {
  if (!own.first_scale) return 1;
  if (!saved || !own.scaling.dynamic) return *own.first_scale;
  return std::clamp(*saved, own.scaling.floor, own.scaling.ceiling);
}

std::string describe_crossing(const std::string& saved_name,
                              const std::optional<float>& saved_scale,
                              const PrecisionState& own) {
  const float scale = continued_scale(own, saved_scale);
  std::string text = "the state was saved in " + saved_name;
  if (saved_scale) text += fmt::format(" with a loss scale of {}", *saved_scale);
  text += " and continues in " + own.name;
  if (!own.first_scale)
    text += saved_scale ? ", without one" : "";
  else if (saved_scale == scale)
    text += ", with the same";
  else
    text += fmt::format(", with {} of {}", saved_scale ? "one" : "a loss scale", scale);
  return text;
}

}  // namespace learn
