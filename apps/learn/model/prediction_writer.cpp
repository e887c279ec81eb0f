#include "apps/learn/model/prediction_writer.h"

#include "framework/core/console.h"
#include "framework/io/json_text.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace learn::cli {
namespace {

using Form = std::unique_ptr<PredictionForm>;

class TextWriter final : public PredictionWriter {
 public:
  TextWriter(Form form, const std::string& sample)
      : form_(std::move(form)), table_(columns(sample)) {}

  void write(std::span<const PredictedImage> images) override {
    for (const PredictedImage& image : images) {
      if (!image.error.empty()) continue;
      std::vector<std::string> row{image.name};
      for (std::string& text : form_->texts(image.prediction)) row.push_back(std::move(text));
      table_.row(std::move(row));
      empty_ = false;
    }
  }

  void end() override {
    if (!empty_) console::print(table_.to_string());
  }

 private:
  [[nodiscard]] std::vector<TextTable::Column> columns(const std::string& sample) const {
    std::vector<TextTable::Column> all{{sample}};
    for (TextTable::Column& column : form_->columns()) all.push_back(std::move(column));
    return all;
  }

  Form form_;
  TextTable table_;
  bool empty_ = true;
};

/// file,...,error
class CsvOutput final : public PredictionWriter {
 public:
  explicit CsvOutput(Form form) : form_(std::move(form)) {
    std::vector<Cell> header{"file"};
    for (std::string& column : form_->header()) header.emplace_back(std::move(column));
    header.emplace_back("error");
    columns_ = header.size();
    console::print(csv_line(header));
  }

  void write(std::span<const PredictedImage> images) override {
    std::string lines;
    for (const PredictedImage& image : images) {
      std::vector<Cell> row{image.name};
      if (image.error.empty())
        for (Cell& cell : form_->cells(image.prediction)) row.push_back(std::move(cell));
      row.resize(columns_ - 1);
      row.emplace_back(image.error);
      lines += csv_line(row);
    }
    console::print(lines);
  }

  void end() override {}

 private:
  Form form_;
  std::size_t columns_ = 0;
};

/// [{"file": ..., ...}, {"file": ..., "error": ...}]
class JsonWriter final : public PredictionWriter {
 public:
  explicit JsonWriter(Form form) : form_(std::move(form)) {}

  void write(std::span<const PredictedImage> images) override {
    std::string text;
    for (const PredictedImage& image : images) {
      text += first_ ? "[\n  " : ",\n  ";
      first_ = false;
      text += json_text(entry(image));
    }
    console::print(text);
  }

  void end() override { console::print(first_ ? "[]\n" : "\n]\n"); }

 private:
  using Json = nlohmann::ordered_json;

  [[nodiscard]] Json entry(const PredictedImage& image) const {
    Json entry{{"file", image.name}};
    if (image.error.empty())
      form_->add_to(entry, image.prediction);
    else
      entry["error"] = image.error;
    return entry;
  }

  Form form_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionFormat format,
                                                         Form form,
                                                         const std::string& sample) {
  if (format == PredictionFormat::csv) return std::make_unique<CsvOutput>(std::move(form));
  if (format == PredictionFormat::json) return std::make_unique<JsonWriter>(std::move(form));
  return std::make_unique<TextWriter>(std::move(form), sample);
}

}  // namespace learn::cli
