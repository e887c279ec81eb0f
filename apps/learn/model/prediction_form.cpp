#include "apps/learn/model/prediction_form.h"

#include "apps/learn/common/json_number.h"
#include "apps/learn/common/named_probabilities.h"
#include "apps/learn/model/evaluation.h"
#include "apps/learn/model/score_table.h"
#include "framework/core/format.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace learn::cli {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

/// "name: probability" of one class or label.
Json entry_of(const char* what, const std::string& name, float probability) {
  return {{what, name}, {"probability", rounded(double{probability})}};
}

/// class, probability, class_2, probability_2, ...
class TopClasses final : public PredictionForm {
 public:
  TopClasses(Names names, std::int64_t top) : names_(std::move(names)) {
    const auto all = static_cast<std::int64_t>(names_.size());
    top_ = static_cast<int>(top == 0 ? all : std::min(top, all));
  }

  [[nodiscard]] std::vector<TextTable::Column> columns() const override {
    std::vector<TextTable::Column> all;
    for (int i = 1; i <= top_; ++i) {
      all.push_back({i == 1 ? "class" : fmt::format("{}.", i)});
      all.push_back({i == 1 ? "probability" : "", TextTable::Align::right});
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> texts(const Prediction& prediction) const override {
    std::vector<std::string> row;
    for (const int c : prediction.top(top_)) {
      row.push_back(name(c));
      row.push_back(four_digits(probability(prediction, c)));
    }
    return row;
  }
  [[nodiscard]] std::vector<std::string> header() const override {
    std::vector<std::string> header;
    for (int i = 1; i <= top_; ++i) {
      const std::string suffix = i == 1 ? "" : fmt::format("_{}", i);
      header.emplace_back("class" + suffix);
      header.emplace_back("probability" + suffix);
    }
    return header;
  }
  [[nodiscard]] std::vector<Cell> cells(const Prediction& prediction) const override {
    std::vector<Cell> row;
    for (const int c : prediction.top(top_)) {
      row.emplace_back(name(c));
      row.emplace_back(double{probability(prediction, c)});
    }
    return row;
  }
  void add_to(Json& entry, const Prediction& prediction) const override {
    Json top = Json::array();
    for (const int c : prediction.top(top_))
      top.push_back(entry_of("class", name(c), probability(prediction, c)));
    entry.update(top.front());
    entry["top"] = std::move(top);
  }

 private:
  [[nodiscard]] const std::string& name(int c) const { return names_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] static float probability(const Prediction& prediction, int c) {
    return prediction.probabilities[static_cast<std::size_t>(c)];
  }

  Names names_;
  int top_ = 0;
};

/// The predicted labels; in files also the probabilities of all.
class Labels final : public PredictionForm {
 public:
  Labels(Names names, double threshold) : names_(std::move(names)), threshold_(threshold) {}

  [[nodiscard]] std::vector<TextTable::Column> columns() const override { return {{"labels"}}; }
  [[nodiscard]] std::vector<std::string> texts(const Prediction& prediction) const override {
    std::vector<std::string> there;
    for (const int c : prediction.labels(threshold_)) {
      const auto at = static_cast<std::size_t>(c);
      there.push_back(names_[at] + " " + four_digits(prediction.probabilities[at]));
    }
    return {there.empty() ? "-" : join(there)};
  }
  [[nodiscard]] std::vector<std::string> header() const override {
    std::vector<std::string> header{"labels"};
    add_probability_columns(header, names_);
    return header;
  }
  /// Labels are between semicolons, as a table of a data set may have them.
  [[nodiscard]] std::vector<Cell> cells(const Prediction& prediction) const override {
    std::vector<std::string> there;
    for (const int c : prediction.labels(threshold_))
      there.push_back(names_[static_cast<std::size_t>(c)]);
    std::vector<Cell> row{join(there, kLabelDelim)};
    for (const float p : prediction.probabilities) row.emplace_back(double{p});
    return row;
  }
  void add_to(Json& entry, const Prediction& prediction) const override {
    Json there = Json::array();
    for (const int c : prediction.labels(threshold_)) {
      const auto at = static_cast<std::size_t>(c);
      there.push_back(entry_of("label", names_[at], prediction.probabilities[at]));
    }
    const std::vector<double> all(prediction.probabilities.begin(), prediction.probabilities.end());
    entry["labels"] = std::move(there);
    entry["probabilities"] = probabilities_by_name(names_, all);
  }

 private:
  Names names_;
  double threshold_;
};

/// Each value by its name.
class Values final : public PredictionForm {
 public:
  explicit Values(Names names) : names_(std::move(names)) {}

  [[nodiscard]] std::vector<TextTable::Column> columns() const override {
    std::vector<TextTable::Column> all;
    for (const std::string& name : names_) all.push_back({name, TextTable::Align::right});
    return all;
  }
  [[nodiscard]] std::vector<std::string> texts(const Prediction& prediction) const override {
    std::vector<std::string> row;
    for (const float value : prediction.values) row.push_back(six_digits(double{value}));
    return row;
  }
  [[nodiscard]] std::vector<std::string> header() const override { return names_; }
  [[nodiscard]] std::vector<Cell> cells(const Prediction& prediction) const override {
    return {prediction.values.begin(), prediction.values.end()};
  }
  void add_to(Json& entry, const Prediction& prediction) const override {
    Json values = Json::object();
    for (std::size_t c = 0; c < names_.size(); ++c)
      values[names_[c]] = shortest(prediction.values[c]);
    entry["values"] = std::move(values);
  }

 private:
  Names names_;
};

}  // namespace

std::unique_ptr<PredictionForm> make_prediction_form(const SavedModel& model, const Shown& shown) {
  if (model.target_kind == TargetKind::labels)
    return std::make_unique<Labels>(model.classes, shown.threshold);
  if (model.target_kind == TargetKind::values) return std::make_unique<Values>(model.classes);
  return std::make_unique<TopClasses>(model.classes, shown.top);
}

}  // namespace learn::cli
