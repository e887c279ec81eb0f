#include "apps/learn/prediction_writer.h"

#include "framework/core/console.h"
#include "framework/io/csv.h"
#include "framework/report/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace learn::cli {
namespace {

using Classes = std::vector<std::string>;

class TextWriter final : public PredictionWriter {
 public:
  TextWriter(const Classes& classes, int top)
      : classes_(classes), top_(top), table_(columns(top)) {}

  void write(std::span<const PredictedImage> images) override {
    for (const PredictedImage& image : images) {
      if (!image.error.empty()) continue;
      std::vector<std::string> row{image.name};
      for (const int c : image.prediction.top(top_)) {
        row.push_back(classes_[static_cast<std::size_t>(c)]);
        row.push_back(
            fmt::format("{:.4f}", image.prediction.probabilities[static_cast<std::size_t>(c)]));
      }
      table_.row(std::move(row));
      empty_ = false;
    }
  }

  void end() override {
    if (!empty_) console::print(table_.to_string());
  }

 private:
  static std::vector<TextTable::Column> columns(int top) {
    std::vector<TextTable::Column> all{{"image"}};
    for (int i = 1; i <= top; ++i) {
      all.push_back({i == 1 ? "class" : fmt::format("{}.", i)});
      all.push_back({i == 1 ? "probability" : "", TextTable::Align::right});
    }
    return all;
  }

  Classes classes_;
  int top_;
  TextTable table_;
  bool empty_ = true;
};

/// file,class,probability,class_2,probability_2,...,error
class CsvOutput final : public PredictionWriter {
 public:
  CsvOutput(const Classes& classes, int top) : classes_(classes), top_(top) {
    std::vector<Cell> header{"file"};
    for (int i = 1; i <= top; ++i) {
      const std::string suffix = i == 1 ? "" : fmt::format("_{}", i);
      header.emplace_back("class" + suffix);
      header.emplace_back("probability" + suffix);
    }
    header.emplace_back("error");
    console::print(csv_line(header));
  }

  void write(std::span<const PredictedImage> images) override {
    std::string lines;
    for (const PredictedImage& image : images) {
      std::vector<Cell> row{image.name};
      if (image.error.empty())
        for (const int c : image.prediction.top(top_)) {
          row.emplace_back(classes_[static_cast<std::size_t>(c)]);
          row.emplace_back(double{image.prediction.probabilities[static_cast<std::size_t>(c)]});
        }
      row.resize(static_cast<std::size_t>(1 + 2 * top_));
      row.emplace_back(image.error);
      lines += csv_line(row);
    }
    console::print(lines);
  }

  void end() override {}

 private:
  Classes classes_;
  int top_;
};

/// [{"file": ..., "class": ..., "probability": ..., "top": [...]}, {"file": ..., "error": ...}]
class JsonWriter final : public PredictionWriter {
 public:
  JsonWriter(const Classes& classes, int top) : classes_(classes), top_(top) {}

  void write(std::span<const PredictedImage> images) override {
    std::string text;
    for (const PredictedImage& image : images) {
      text += first_ ? "[\n  " : ",\n  ";
      first_ = false;
      // A file's name may be any bytes.
      text += entry(image).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    console::print(text);
  }

  void end() override { console::print(first_ ? "[]\n" : "\n]\n"); }

 private:
  using Json = nlohmann::ordered_json;

  [[nodiscard]] Json entry(const PredictedImage& image) const {
    if (!image.error.empty()) return {{"file", image.name}, {"error", image.error}};
    Json top = Json::array();
    for (const int c : image.prediction.top(top_)) {
      // The digits that a float has, not those that its double shows.
      const double p = image.prediction.probabilities[static_cast<std::size_t>(c)];
      top.push_back({{"class", classes_[static_cast<std::size_t>(c)]},
                     {"probability", std::round(p * 1e7) / 1e7}});
    }
    return {{"file", image.name},
            {"class", top.front()["class"]},
            {"probability", top.front()["probability"]},
            {"top", top}};
  }

  Classes classes_;
  int top_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionFormat format,
                                                         const Classes& classes,
                                                         int top) {
  if (format == PredictionFormat::csv) return std::make_unique<CsvOutput>(classes, top);
  if (format == PredictionFormat::json) return std::make_unique<JsonWriter>(classes, top);
  return std::make_unique<TextWriter>(classes, top);
}

}  // namespace learn::cli
