#include "apps/learn/model/class_table.h"

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

ScoreTable::Row row_of(const std::string& name,
                       const ClassScores& s,
                       const std::string& text_name = "") {
  return {name, {{static_cast<double>(s.support)}, {s.precision}, {s.recall}, {s.f1}}, text_name};
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

ScoreTable class_scores(const ConfusionMatrix& confusion, const std::vector<std::string>& names) {
  const ClassReport report = class_report(confusion);
  ScoreTable table{.what = "class",
                   .columns = {{"images", "images", ScoreTable::Digits::count},
                               {"precision", "precision"},
                               {"recall", "recall"},
                               {"F1", "f1"}},
                   .rows = {},
                   .means = {row_of("macro mean", report.macro, "(mean of the classes)"),
                             row_of("weighted mean", report.weighted, "(mean of the images)")}};
  for (int c = 0; c < confusion.classes(); ++c) {
    const bool seen = confusion.seen(c) > 0, predicted = confusion.predicted(c) > 0;
    ScoreTable::Row& row = table.rows.emplace_back(
        row_of(name_of(names, c), report.classes[static_cast<std::size_t>(c)]));
    row.scores[1].of_nothing = !predicted;
    row.scores[2].of_nothing = !seen;
    row.scores[3].of_nothing = !seen && !predicted;
  }
  return table;
}

std::string class_table(const ConfusionMatrix& confusion, const std::vector<std::string>& names) {
  const ScoreTable scores = class_scores(confusion, names);
  std::vector<TextTable::Column> columns = text_columns(scores);
  columns.push_back({"most often confused with"});
  TextTable table(std::move(columns));
  const std::vector<Confusion> pairs = confusion.most_confused();
  for (int c = 0; c < confusion.classes(); ++c) {
    std::vector<std::string> cells = text_cells(scores, scores.rows[static_cast<std::size_t>(c)]);
    cells.push_back(most_often_taken_for(pairs, names, c));
    table.row(std::move(cells));
  }
  for (const ScoreTable::Row& mean : scores.means) table.row(text_cells(scores, mean));
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
