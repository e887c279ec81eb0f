#include "data/sets/image_folder.h"

#include "data/images/image_codec.h"
#include "data/sets/path_labels.h"
#include "data/sets/set_advice.h"
#include "framework/core/error.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

LabelledOptions reading_of(const FolderOptions& options) {
  return {.classes = options.classes,
          .valid_fraction = options.valid_fraction,
          .seed = options.seed,
          .train_limit = options.train_limit,
          .valid_limit = options.valid_limit,
          .decoding = options.decoding};
}

/// Returns the files skipped in a folder.
std::vector<PassedOver> passed_over_in(const FileTree& tree,
                                       const PathLabels& labels,
                                       const fs::path& folder) {
  const std::string start = tree.text(folder) + "/";
  std::vector<PassedOver> there;
  std::ranges::copy_if(
      labels.files.passed_over, std::back_inserter(there), [&](const PassedOver& file) {
        return folder.empty() || file.file.starts_with(start);
      });
  return there;
}

[[noreturn]] void fail_without_images(const FileTree& tree,
                                      const PathLabels& labels,
                                      Part part,
                                      const FolderOptions& options,
                                      const char* instead = "") {
  const fs::path& folder = labels.folders.at(part).classes;
  fail<DataError>(
      "'{}' has no {}: {}{}{}",
      tree.text(folder),
      options.label_regex.empty() ? "class folders with images" : "images",
      advice_without_classes(passed_over_in(tree, labels, folder)),
      instead,
      part == Part::unsaid ? "" : "; if it is a class itself, append ':parts=false' to the path");
}

/// Throws unless a part that is to be read has images, whatever other parts have. `instead`:
/// alternative advice.
void require_images(const FileTree& tree,
                    const PathLabels& labels,
                    Part part,
                    const FolderOptions& options,
                    const char* instead = "") {
  if (std::ranges::find(labels.files.files, part, &LabelledFile::part) == labels.files.files.end())
    fail_without_images(tree, labels, part, options, instead);
}

/// Throws for an empty class folder, which is more likely a mistake than a class.
void require_no_empty_classes(const FileTree& tree, const PathLabels& labels, Part part) {
  const fs::path& classes = labels.folders.at(part).classes;
  std::vector<std::string> filled;
  for (const LabelledFile& file : labels.files.files)
    if (file.part == part && (filled.empty() || filled.back() != file.labels.front()))
      filled.push_back(file.labels.front());
  for (const std::string& name : tree.folders(classes)) {
    if (std::ranges::find(filled, name) != filled.end()) continue;
    const std::vector<PassedOver> there = passed_over_in(tree, labels, classes / name);
    fail<DataError>("class folder '{}' has no {} files: fill or remove it{}",
                    tree.text(classes / name),
                    image_extensions(),
                    there.empty() ? "" : "; it has " + passed_over_text(there));
  }
}

/// Returns the part for validation; `unsaid`: a share of the training images.
Part validation_part(const FileTree& tree, const PathLabels& labels, const FolderOptions& options) {
  const auto has = [&](Part part) { return labels.folders.contains(part); };
  if (has(Part::unsaid) || options.valid_fraction || !options.valid_regex.empty())
    return Part::unsaid;
  if (has(Part::valid)) return Part::valid;
  if (has(Part::test)) return Part::test;
  if (!options.label_regex.empty()) return Part::unsaid;
  fail<DataError>(
      "'{}' exists without a validation folder (valid, val, test, ...) next to it: add one, or "
      "hold out a share of the training images with --val-split SHARE; if it is a class, append "
      "':parts=false' to the path",
      tree.text(labels.folders.at(Part::train).folder));
}

void check_parts(const FileTree& tree, const PathLabels& labels, const FolderOptions& options) {
  const bool by_regex = !options.valid_regex.empty();
  const Part train = labels.folders.contains(Part::unsaid) ? Part::unsaid : Part::train;
  if (!labels.folders.contains(train))
    fail<DataError>(
        "'{}' is not used as a class, and there is no training folder (train, training, ...) next "
        "to it: add one; if it is a class, append ':parts=false' to the path",
        tree.text(labels.folders.begin()->second.folder));
  const Part valid = validation_part(tree, labels, options);
  if (labels.files.files.empty()) fail_without_images(tree, labels, train, options);
  if (by_regex) {
    if (std::ranges::find(labels.files.files, Part::valid, &LabelledFile::part) ==
        labels.files.files.end())
      fail<DataError>("no image of '{}' matches '{}', the regular expression of validation images",
                      tree.text(),
                      options.valid_regex);
    return;
  }
  require_images(tree, labels, train, options);
  if (valid != Part::unsaid)
    require_images(tree,
                   labels,
                   valid,
                   options,
                   "; or split off a share of the training images with --val-split SHARE");
  if (options.classes.empty() && options.label_regex.empty())
    require_no_empty_classes(tree, labels, train);
}

/// Sorts in the order of the class labels; classes that were not chosen come last.
void sort_by_class(std::vector<LabelledFile>& files, std::vector<std::string> classes) {
  std::set<std::string> names;
  const auto label_of = [](const LabelledFile& file) -> const std::string& {
    return file.labels.front();
  };
  for (std::size_t i = 0; i < files.size(); ++i)
    if (i == 0 || label_of(files[i]) != label_of(files[i - 1])) names.insert(label_of(files[i]));
  if (classes.empty()) {
    classes.assign(names.begin(), names.end());
    sort_class_names(classes);
  } else {
    std::ranges::copy_if(names, std::back_inserter(classes), [&](const std::string& name) {
      return std::ranges::find(classes, name) == classes.end();
    });
  }
  // Mostly this is their order already.
  std::map<std::string, std::size_t> ranks;
  for (std::size_t i = 0; i < classes.size(); ++i) ranks.emplace(classes[i], i);
  auto last = ranks.end();
  const auto rank = [&](const LabelledFile& file) {
    if (last == ranks.end() || last->first != label_of(file)) last = ranks.find(label_of(file));
    return last->second;
  };
  if (!std::ranges::is_sorted(files, {}, rank)) std::ranges::stable_sort(files, {}, rank);
}

/// Returns the skipped files without those in unused parts, which may hold anything, for instance
/// images without labels.
std::vector<PassedOver> passed_over_in_used_parts(const FileTree& tree,
                                                  const PathLabels& labels,
                                                  const FolderOptions& options) {
  std::vector<PassedOver> used = labels.files.passed_over;
  const Part valid = validation_part(tree, labels, options);
  for (const auto& [part, place] : labels.folders) {
    if (part == valid || part == Part::train || part == Part::unsaid) continue;
    const std::string start = tree.text(place.folder) + "/";
    std::erase_if(used, [&](const PassedOver& file) { return file.file.starts_with(start); });
  }
  return used;
}

PathLabels labelled(const FileTree& tree,
                    const FolderOptions& options,
                    const std::vector<std::string>& known_classes) {
  PathLabels labels = label_by_path(tree,
                                    {.label_regex = options.label_regex,
                                     .valid_regex = options.valid_regex,
                                     .parts = options.parts,
                                     .known_classes = known_classes});
  return labels;
}

DataPair read_pair(const FileTree& tree, const FolderOptions& options) {
  if (options.valid_fraction.has_value() && !options.valid_regex.empty())
    fail<UsageError>(
        "a regular expression of validation images ('{}') cannot be combined with a share to split "
        "off ({})",
        options.valid_regex,
        *options.valid_fraction);
  PathLabels labels = labelled(tree, options, {});
  check_parts(tree, labels, options);
  std::vector<PassedOver> passed_over = passed_over_in_used_parts(tree, labels, options);
  log_passed_over(passed_over, tree.text());
  if (options.label_regex.empty() && options.valid_regex.empty())
    sort_by_class(labels.files.files, options.classes);
  DataPair pair = read_labelled(tree, std::move(labels.files), reading_of(options));
  pair.passed_over = std::move(passed_over);
  return pair;
}

Dataset read_for_evaluation(const FileTree& tree, const FolderOptions& options) {
  PathLabels labels = labelled(tree, options, options.classes);
  std::string suffix;
  if (options.valid_regex.empty()) {
    const auto is_there = [&](Part part) { return labels.folders.contains(part); };
    const std::vector<Part> parts{Part::test, Part::valid, Part::train, Part::unsaid};
    const Part part = *std::ranges::find_if(parts, is_there);
    require_images(tree, labels, part, options);
    if (part != Part::unsaid && options.label_regex.empty())
      suffix = "/" + labels.folders.at(part).folder.filename().string();
  }
  log_passed_over(labels.files.passed_over, tree.text());
  Dataset out = read_labelled_for_evaluation(tree, std::move(labels.files), reading_of(options));
  out.name += suffix;
  return out;
}

template <class Read>
auto reading(const FileTree& tree, Read read) {
  try {
    return read();
  } catch (const fs::filesystem_error& error) {
    fail<DataError>("cannot read the folder '{}': {}", tree.text(), error.what());
  }
}

}  // namespace

DataPair from_folder(const FileTree& tree, const FolderOptions& options) {
  return reading(tree, [&] { return read_pair(tree, options); });
}

Dataset evaluation_folder(const FileTree& tree, const FolderOptions& options) {
  FolderOptions saying = options;
  saying.decoding.say_scaled = true;
  return reading(tree, [&] { return read_for_evaluation(tree, saying); });
}

DataPair from_folder(const fs::path& path, const FolderOptions& options) {
  const std::shared_ptr<const FileTree> tree = open_tree(path);
  return from_folder(*tree, options);
}

}  // namespace learn::data
