#include "apps/experiment/progress_line.h"
#include "apps/learn/common/named_probabilities.h"
#include "apps/learn/data/data_command.h"
#include "data/files/in_parallel.h"
#include "data/images/image_codec.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/drawing/png.h"
#include "framework/io/csv.h"

#include <fstream>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

void check_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    fail<UsageError>("'{}' exists and is not empty: name a new folder", folder.string());
}

/// Names of classes become names of folders, and names of labels are in one cell.
void check_names(const data::Dataset& set) {
  for (const std::string& name : set.classes) {
    const bool has_slash = name.find('/') != std::string::npos;
    if (set.target_kind == data::TargetKind::classes && (has_slash || name.starts_with('.')))
      fail<DataError>("the class '{}' of '{}' cannot be the name of a folder", name, set.name);
    if (set.target_kind == data::TargetKind::labels && name.find(kLabelDelim) != std::string::npos)
      fail<DataError>("the label '{}' of '{}' contains '{}', which separates labels in labels.csv",
                      name,
                      set.name,
                      kLabelDelim);
  }
}

void write_image(const fs::path& path, const data::Dataset& set, std::int64_t i) {
  std::vector<std::uint8_t> memory;
  const auto pixels = set.read_image(i, memory);
  const data::Image image =
      data::with_channels({set.height, set.width, {pixels.begin(), pixels.end()}, set.channels}, 3);
  const std::string png =
      encode_png(static_cast<int>(set.width), static_cast<int>(set.height), image.pixels);
  std::ofstream out(path, std::ios::binary);
  out.write(png.data(), static_cast<std::streamsize>(png.size()));
  if (!out.flush()) fail<IoError>("cannot write '{}'", path.string());
}

/// Cells of an image's row, after its file.
std::vector<Cell> targets(const data::Dataset& set, std::int64_t i) {
  if (set.target_kind != data::TargetKind::values) return {join(labels_of(set, i), kLabelDelim)};
  const auto values = set.targets_of(i);
  return {values.begin(), values.end()};
}

/// Writes the images of a part and adds their rows.
void write_part(const fs::path& folder,
                const std::string& part,
                const data::Dataset& set,
                int threads,
                std::vector<std::vector<Cell>>& rows) {
  std::vector<fs::path> files;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    fs::path file = part;
    if (set.target_kind == data::TargetKind::classes) file /= labels_of(set, i).front();
    if (std::error_code error; !fs::create_directories(folder / file, error) && error)
      fail<IoError>("cannot make the folder '{}': {}", (folder / file).string(), error.message());
    files.push_back(file / fmt::format("{:06}.png", i));
    std::vector<Cell> row{files.back().generic_string()};
    for (Cell& cell : targets(set, i)) row.push_back(std::move(cell));
    row.emplace_back(part);
    rows.push_back(std::move(row));
  }
  data::in_parallel(set.size(), threads, progress_line("writing"), [&](std::int64_t i) {
    write_image(folder / files[static_cast<std::size_t>(i)], set, i);
  });
}

}  // namespace

int data_make(const DataCommandOptions& o) {
  const fs::path folder = o.folder;
  check_folder(folder);
  const ExperimentOptions& all = o.experiment();
  const data::DataPair pair =
      all.data.load(all.device.seed, all.device.threads, progress_line("reading"));
  if (!pair.train.form().is_image())
    fail<UsageError>("'{}' has features: only images are written as files", pair.train.name);
  check_names(pair.train);
  const auto threads = static_cast<int>(all.device.threads);
  std::vector<std::vector<Cell>> rows;
  write_part(folder, "train", pair.train, threads, rows);
  write_part(folder, "valid", pair.valid, threads, rows);
  std::vector<std::string> header{"file"};
  if (pair.train.target_kind == data::TargetKind::values)
    header.insert(header.end(), pair.train.classes.begin(), pair.train.classes.end());
  else
    header.emplace_back(pair.train.target_kind == data::TargetKind::labels ? "labels" : "label");
  header.emplace_back("split");
  CsvWriter(folder / "labels.csv", header).rows(rows);
  console::print(fmt::format("{} + {} images of '{}' -> {}\n",
                             pair.train.size(),
                             pair.valid.size(),
                             pair.train.name,
                             folder.string()));
  return 0;
}

}  // namespace learn::cli
