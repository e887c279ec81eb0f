#include "apps/learn/model/class_table.h"

#include "framework/core/nan_sign.h"
#include "framework/evaluation/class_report.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn::cli {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::right;

const std::string& name_of(const std::vector<std::string>& names, int of_class) {
  return names.at(static_cast<std::size_t>(of_class));
}

std::string share(double value) { return fmt::format("{:.4f}", without_nan_sign(value)); }

std::vector<std::string> row(const std::string& name, const ClassScores& scores) {
  return {name,
          std::to_string(scores.support),
          share(scores.precision),
          share(scores.recall),
          share(scores.f1)};
}

/// "dog (12)", or nothing.
std::string most_often_taken_for(const std::vector<Confusion>& pairs,
                                 const std::vector<std::string>& names,
                                 int truth) {
  const auto worst = std::ranges::find(pairs, truth, &Confusion::truth);
  return worst == pairs.end() ? ""
                              : fmt::format("{} ({})", name_of(names, worst->guess), worst->count);
}

}  // namespace

std::string class_table(const ConfusionMatrix& confusion, const std::vector<std::string>& names) {
  TextTable table({{"class"},
                   {"images", kRight},
                   {"precision", kRight},
                   {"recall", kRight},
                   {"F1", kRight},
                   {"most often taken for"}});
  const ClassReport report = class_report(confusion);
  const std::vector<Confusion> pairs = confusion.most_confused();
  for (int c = 0; c < confusion.classes(); ++c) {
    const ClassScores& scores = report.classes[static_cast<std::size_t>(c)];
    std::vector<std::string> cells = row(name_of(names, c), scores);
    if (confusion.predicted(c) == 0) cells[2] = "-";
    if (scores.support == 0) cells[3] = "-";
    if (scores.support + confusion.predicted(c) == 0) cells[4] = "-";
    cells.push_back(most_often_taken_for(pairs, names, c));
    table.row(std::move(cells));
  }
  table.row(row("(mean of the classes)", report.macro));
  table.row(row("(mean of the images)", report.weighted));
  return table.to_string();
}

std::string confused_pairs(const ConfusionMatrix& confusion,
                           const std::vector<std::string>& names,
                           std::size_t count) {
  const std::vector<Confusion> pairs = confusion.most_confused();
  std::string text;
  for (const Confusion& pair : std::span(pairs).first(std::min(count, pairs.size())))
    text += fmt::format("{}{} as {} {}",
                        text.empty() ? "" : ", ",
                        name_of(names, pair.truth),
                        name_of(names, pair.guess),
                        pair.count);
  return text;
}

std::string matrix_table(const ConfusionMatrix& confusion, const std::vector<std::string>& names) {
  std::vector<TextTable::Column> columns{{"true class"}, {"", kRight}};
  std::int64_t decided = 0;
  for (int c = 0; c < confusion.classes(); ++c) {
    columns.push_back({std::to_string(c), kRight});
    decided += confusion.predicted(c);
  }
  const bool all_decided = decided == confusion.samples();
  if (!all_decided) columns.push_back({"NaN", kRight});
  TextTable table(std::move(columns));
  for (int truth = 0; truth < confusion.classes(); ++truth) {
    std::vector<std::string> cells{name_of(names, truth), std::to_string(truth)};
    std::int64_t none = confusion.seen(truth);
    for (int guess = 0; guess < confusion.classes(); ++guess) {
      const std::int64_t count = confusion.count(truth, guess);
      cells.push_back(count == 0 ? "." : std::to_string(count));
      none -= count;
    }
    if (!all_decided) cells.push_back(none == 0 ? "." : std::to_string(none));
    table.row(std::move(cells));
  }
  return table.to_string();
}

}  // namespace learn::cli
