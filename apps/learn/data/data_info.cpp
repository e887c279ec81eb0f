#include "apps/experiment/progress_line.h"
#include "apps/learn/data/data_command.h"
#include "data/files/image_files.h"
#include "data/images/image_codec.h"
#include "data/loading/normalization.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/core/regular_file.h"
#include "framework/io/free_space.h"
#include "framework/io/json_text.h"
#include "framework/terminal/text_table.h"

#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <memory>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Files on disk.
struct Files {
  std::uintmax_t bytes = 0;
  std::map<std::string, std::int64_t> formats;  ///< by first bytes, and how many there are
};

void add_file(Files& files, const fs::path& path) {
  const RegularFile file(path);
  std::array<std::uint8_t, data::kFormatBytes> start{};
  const auto found = std::span(start).first(std::min<std::size_t>(file.size(), start.size()));
  file.read(0, std::as_writable_bytes(found));
  files.bytes += file.size();
  ++files.formats[data::image_format(start)];
}

/// Images of an archive are not separate files, so its own size counts.
Files files_of(const data::DataPair& pair, const fs::path& place) {
  Files files;
  std::error_code ignored;
  if (fs::is_regular_file(place, ignored)) files.bytes = fs::file_size(place, ignored);
  for (const data::Dataset* set : {&pair.train, &pair.valid})
    for (const std::string& file : set->files)
      if (fs::is_regular_file(file, ignored)) add_file(files, file);
  return files;
}

std::string_view text_of(data::TargetKind kind) {
  switch (kind) {
    case data::TargetKind::labels:
      return "several labels per image";
    case data::TargetKind::values:
      return "real numbers";
    default:
      return "classes";
  }
}

std::string size_text(const data::Dataset& set) {
  if (set.height == 0) return fmt::format("{} features", set.channels);
  return fmt::format("{}x{}, {}",
                     set.width,
                     set.height,
                     set.channels == 1   ? "grey"
                     : set.channels == 3 ? "colour"
                                         : fmt::format("{} channels", set.channels));
}

std::string numbers(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += fmt::format("{}{:.3f}", text.empty() ? "" : " ", value);
  return text;
}

/// Smallest, mean and largest value of each column of (N, names).
std::string spread_table(const char* what,
                         const std::vector<std::string>& names,
                         const std::vector<float>& values) {
  const auto right = TextTable::Align::right;
  TextTable table({{what}, {"smallest", right}, {"mean", right}, {"largest", right}});
  for (std::size_t c = 0; c < names.size(); ++c) {
    double sum = 0;
    float low = values[c];
    float high = low;
    for (std::size_t i = c; i < values.size(); i += names.size()) {
      sum += values[i];
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    table.row(
        {names[c],
         fmt::format("{:.4g}", low),
         fmt::format("{:.4g}",
                     sum * static_cast<double>(names.size()) / static_cast<double>(values.size())),
         fmt::format("{:.4g}", high)});
  }
  return table.to_string();
}

/// Images of each class or with each label; smallest, mean and largest value.
std::string target_table(const data::DataPair& pair) {
  const data::Dataset& train = pair.train;
  const auto right = TextTable::Align::right;
  if (train.target_kind == data::TargetKind::values) {
    return spread_table("value", train.classes, train.targets);
  }
  const bool labels = train.target_kind == data::TargetKind::labels;
  TextTable table({{labels ? "label" : "class"}, {"train", right}, {"valid", right}});
  const std::vector<std::int64_t> in_train = class_counts(train);
  const std::vector<std::int64_t> in_valid = class_counts(pair.valid);
  for (std::size_t c = 0; c < in_train.size(); ++c)
    table.row({train.classes[c], grouped(in_train[c]), grouped(in_valid[c])});
  return table.to_string();
}

Json json_of(const data::DataPair& pair,
             const data::Normalization& colours,
             const fs::path& place,
             const Files& files) {
  const data::Dataset& train = pair.train;
  Json out{{"name", train.name},
           {"synthetic", train.synthetic},
           {"place", place.string()},
           {"bytes", files.bytes},
           {"formats", files.formats},
           {"height", train.height},
           {"width", train.width},
           {"channels", train.channels},
           {"mean", colours.mean},
           {"std", colours.std},
           {"targets", text_of(train.target_kind)},
           {"names", train.classes}};
  if (!train.feature_names.empty()) out["features"] = train.feature_names;
  const auto part = [](const data::Dataset& set) {
    Json json{{data::sample_word(set), set.size()}, {"fingerprint", set.fingerprint()}};
    if (set.target_kind != data::TargetKind::values) json["counts"] = class_counts(set);
    return json;
  };
  out["train"] = part(train);
  out["valid"] = part(pair.valid);
  out["skipped"] = Json::array();
  for (const data::SkippedFile& file : pair.skipped)
    out["skipped"].push_back({{"file", file.file}, {"why", file.why}});
  out["passed_over"] = {{"kinds", data::kinds_of(pair.passed_over)}, {"files", Json::array()}};
  for (const data::PassedOver& file : pair.passed_over)
    out["passed_over"]["files"].push_back(
        {{"file", file.file}, {"kind", file.kind}, {"may_be_image", file.may_be_image}});
  return out;
}

}  // namespace

int data_info(const DataCommandOptions& o) {
  const ExperimentOptions& all = o.experiment();
  const data::DataPair pair =
      all.data.load(all.device.seed, all.device.threads, progress_line("reading"));
  const data::Dataset& train = pair.train;
  const data::Normalization colours = data::measure(train);
  const fs::path place = all.data.place().value_or(fs::path());
  const Files files = files_of(pair, place);
  if (o.json) {
    console::print(json_text(json_of(pair, colours, place, files), 2) + "\n");
    return 0;
  }
  std::string text = fmt::format("{}{}: {} + {} {}, {}\n",
                                 train.name,
                                 train.synthetic ? " (synthetic)" : "",
                                 grouped(train.size()),
                                 grouped(pair.valid.size()),
                                 data::sample_word(train),
                                 size_text(train));
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:12} {}\n", name, value);
  };
  line("place", place.string());
  if (files.bytes > 0) line("on disk", bytes_text(files.bytes));
  std::string formats;
  for (const auto& [name, count] : files.formats)
    formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", grouped(count), name);
  line("formats", formats);
  if (train.form().is_image()) {
    line("mean", numbers(colours.mean));
    line("deviation", numbers(colours.std));
  }
  line("fingerprint", train.fingerprint() + " (train)");
  line("", pair.valid.fingerprint() + " (valid)");
  if (!pair.skipped.empty())
    line("skipped", fmt::format("{} damaged files", grouped(std::ssize(pair.skipped))));
  if (!pair.passed_over.empty()) line("skipped", data::passed_over_text(pair.passed_over));
  line("targets", fmt::format("{} {}", train.classes.size(), text_of(train.target_kind)));
  if (!train.feature_names.empty())
    text += "\n" + spread_table("feature", train.feature_names, train.features);
  console::print(text + "\n" + target_table(pair));
  return 0;
}

}  // namespace learn::cli
