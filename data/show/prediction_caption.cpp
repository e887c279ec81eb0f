#include "data/show/prediction_caption.h"

#include "framework/core/format.h"
#include "framework/evaluation/label_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace learn::data {
namespace {

using Lines = std::vector<plot::CaptionLine>;

/// Returns " 97 %". Only a probability of exactly 0 or 1 is shown as 0 % or 100 %.
std::string percent(double probability) {
  if (probability > 0 && probability < 0.001) return " <0.1 %";
  const bool detailed = probability < 0.1 || (probability > 0.99 && probability < 1);
  if (probability < 1 && probability > 0.999) return " >99.9 %";
  return fmt::format(" {:.{}f} %", 100 * probability, detailed ? 1 : 0);
}

plot::CaptionLine line(std::string text, bool right) {
  return {std::move(text), right ? plot::kRight : plot::kWrong, true};
}

bool any_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double v) { return std::isnan(v); });
}

std::string number(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{:.4g}", value);
}

/// Shortens to at most four lines.
Lines shortened(Lines lines) {
  constexpr std::size_t kMost = 4;
  if (lines.size() <= kMost) return lines;
  const std::size_t more = lines.size() - (kMost - 1);
  lines.resize(kMost - 1);
  lines.push_back({fmt::format("and {} more", more)});
  return lines;
}

Lines of_class(const JudgedTargets& j) {
  const auto best =
      static_cast<std::size_t>(std::ranges::max_element(j.outputs) - j.outputs.begin());
  const bool right = j.truth == -1 || static_cast<std::size_t>(j.truth) == best;
  return {line(j.names[best] + percent(j.outputs[best]), right)};
}

Lines of_labels(const JudgedTargets& j) {
  Lines lines;
  for (const bool right : {false, true})
    for (std::size_t i = 0; i < j.outputs.size(); ++i) {
      const bool said = j.outputs[i] > j.threshold;
      const bool there = j.targets.empty() ? said : has_label(j.targets[i]);
      if ((said == there) != right || (!said && !there)) continue;
      lines.push_back(line((said ? "" : "not ") + j.names[i] + percent(j.outputs[i]), right));
    }
  if (lines.empty()) lines.push_back(line("no label", true));
  return shortened(std::move(lines));
}

Lines of_values(const JudgedTargets& j) {
  Lines lines;
  for (std::size_t i = 0; i < j.outputs.size(); ++i)
    lines.push_back({fmt::format("{} {}{}",
                                 j.names[i],
                                 number(j.outputs[i]),
                                 j.targets.empty() ? "" : ", is " + number(double{j.targets[i]}))});
  return shortened(std::move(lines));
}

}  // namespace

std::string truth_text(const JudgedTargets& j) {
  if (j.kind == TargetKind::values) return "";
  if (j.kind == TargetKind::classes)
    return j.truth == -1 ? "" : j.names[static_cast<std::size_t>(j.truth)];
  std::vector<std::string> there;
  for (std::size_t i = 0; i < j.targets.size(); ++i)
    if (has_label(j.targets[i])) there.push_back(j.names[i]);
  return there.empty() && !j.targets.empty() ? "no label" : join(there);
}

std::string truth_with_probability(const JudgedTargets& j) {
  const std::string text = truth_text(j);
  if (j.kind != TargetKind::classes || any_nan(j.outputs)) return text;
  return text + percent(j.outputs[static_cast<std::size_t>(j.truth)]);
}

std::vector<plot::CaptionLine> prediction_lines(const JudgedTargets& j) {
  if (j.kind == TargetKind::values) return of_values(j);
  if (any_nan(j.outputs)) return {line("NaN", false)};
  return j.kind == TargetKind::classes ? of_class(j) : of_labels(j);
}

std::string prediction_legend(TargetKind kind, bool truth_known) {
  if (kind == TargetKind::values)
    return truth_known ? "predicted value and the true one" : "predicted value";
  if (kind == TargetKind::classes)
    return truth_known ? "predicted class and its probability, blue if right"
                       : "predicted class and its probability";
  return truth_known ? "predicted labels and their probabilities, blue if right; missed ones after "
                       "'not'"
                     : "predicted labels and their probabilities";
}

std::string truth_legend(TargetKind kind) {
  if (kind == TargetKind::values) return "";
  return kind == TargetKind::classes ? "true class" : "true labels";
}

}  // namespace learn::data
