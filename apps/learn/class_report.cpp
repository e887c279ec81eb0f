#include "apps/learn/class_report.h"

#include "framework/report/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace learn::cli {

ClassReport::ClassReport(const Predictions& predictions, std::vector<std::string> names)
    : names_(std::move(names)),
      classes_(names_.size(), {.taken_for = std::vector<std::int64_t>(names_.size())}) {
  const auto preds = predictions.preds.span<float>();
  const auto targets = predictions.targets.span<std::int64_t>();
  samples_ = static_cast<std::int64_t>(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = preds.subspan(i * names_.size(), names_.size());
    const auto truth = static_cast<std::size_t>(targets[i]);
    OfClass& of_class = classes_[truth];
    ++of_class.total;
    if (std::ranges::any_of(row, [](float logit) { return std::isnan(logit); })) {
      ++undecided_;
      continue;
    }
    const auto guess = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    if (guess == truth)
      ++of_class.right;
    else
      ++of_class.taken_for[guess];
  }
  for (const OfClass& of_class : classes_) right_ += of_class.right;
}

std::string ClassReport::table() const {
  TextTable table({{"class"},
                   {"images", TextTable::Align::right},
                   {"accuracy", TextTable::Align::right},
                   {"most often taken for"}});
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const OfClass& of_class = classes_[i];
    const auto worst = std::ranges::max_element(of_class.taken_for);
    const double share = static_cast<double>(of_class.right) /
                         static_cast<double>(std::max<std::int64_t>(1, of_class.total));
    const auto confused = static_cast<std::size_t>(worst - of_class.taken_for.begin());
    table.row({names_[i],
               std::to_string(of_class.total),
               of_class.total > 0 ? fmt::format("{:.4f}", share) : "-",
               *worst == 0 ? "" : fmt::format("{} ({})", names_[confused], *worst)});
  }
  return table.to_string();
}

}  // namespace learn::cli
