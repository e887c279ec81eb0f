#include "data/sets/labelled_files.h"

#include "data/names/class_names.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/threads/processors.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Returns the names in the files, in an order that does not depend on the order of the files.
std::vector<std::string> class_names(const LabelledFiles& files) {
  std::set<std::string> names;
  const std::string* before = nullptr;  // files of one class follow each other
  for (const LabelledFile& file : files.files)
    for (const std::string& label : file.labels) {
      if (before == nullptr || *before != label) names.insert(label);
      before = &label;
    }
  std::vector<std::string> sorted(names.begin(), names.end());
  sort_class_names(sorted);
  check_class_names(sorted, files.where);
  return sorted;
}

/// Finds the positions of labels. The last answer is kept, because files of one class follow each
/// other.
class Positions {
 public:
  explicit Positions(const std::vector<std::string>& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) positions_.emplace(labels[i], i);
  }
  /// Returns null for a label that is not there.
  [[nodiscard]] const std::size_t* find(const std::string& label) {
    if (last_ == positions_.end() || last_->first != label) last_ = positions_.find(label);
    return last_ == positions_.end() ? nullptr : &last_->second;
  }

 private:
  std::map<std::string, std::size_t> positions_;
  std::map<std::string, std::size_t>::const_iterator last_ = positions_.end();
};

/// Checks that a matrix with a number for each label of each file is not too large. It is if a
/// column is mistaken for labels, because then nearly every file has a different label.
void check_label_matrix(const LabelledFiles& files, std::size_t labels) {
  constexpr double kFree = 1 << 30U;
  const double bytes = 4.0 * static_cast<double>(files.files.size()) * static_cast<double>(labels);
  std::size_t uses = 0;
  for (const LabelledFile& file : files.files) uses += file.labels.size();
  if (bytes > kFree && (uses < 2 * labels || bytes > static_cast<double>(physical_memory()) / 2))
    fail<DataError>(
        "'{}': {} files with {} different labels need a table of {:.0f} MiB: check the column of "
        "labels and 'label_delim'",
        files.where,
        files.files.size(),
        labels,
        std::ceil(bytes / (1 << 20U)));
}

void warn_of_single_files(const LabelledFiles& files, std::size_t classes) {
  constexpr std::size_t kFew = 20;
  if (files.kind == TargetKind::classes && files.files.size() >= kFew &&
      2 * classes > files.files.size())
    log::warn(
        "[data] '{}': {} classes for {} samples: check the column of classes (':label=COLUMN'); "
        "numbers to predict are ':targets=(COLUMN,...)'",
        files.where,
        classes,
        files.files.size());
}

/// Returns the samples of `files`, all of whose labels are in `classes`: features, or images that
/// are not read yet, whose `files` are paths in the tree.
Dataset undecoded(LabelledFiles files, const std::vector<std::string>& classes, Split split) {
  Dataset out;
  out.name = files.name;
  out.split = split;
  out.target_kind = files.kind;
  out.classes = files.kind == TargetKind::values ? files.value_names : classes;
  Positions positions(classes);
  if (files.kind == TargetKind::labels) check_label_matrix(files, classes.size());
  out.files.reserve(files.files.size());
  for (LabelledFile& file : files.files) {
    out.files.push_back(std::move(file.path));
    out.features.insert(out.features.end(), file.features.begin(), file.features.end());
    if (files.kind == TargetKind::classes) {
      out.labels.push_back(static_cast<std::int64_t>(*positions.find(file.labels.front())));
    } else if (files.kind == TargetKind::values) {
      out.targets.insert(out.targets.end(), file.values.begin(), file.values.end());
    } else {
      const std::size_t row = out.targets.size();
      out.targets.resize(row + classes.size(), 0);
      for (const std::string& label : file.labels) out.targets[row + *positions.find(label)] = 1;
    }
  }
  if (files.feature_names.empty()) return out;
  out.channels = static_cast<std::int64_t>(files.feature_names.size());
  out.feature_names = files.feature_names;
  return out;
}

Dataset decoded(const FileTree& tree,
                const std::string& where,
                Dataset set,
                const DecodeFilesOptions& decoding) {
  if (!set.feature_names.empty()) return set;
  return decode_files(tree, where, std::move(set), decoding);
}

/// Returns whether images are chosen before they are read, so that no others are.
bool chooses_first(const LabelledOptions& options) {
  const bool limits = options.train_limit != 0 || options.valid_limit != 0;
  return limits && options.decoding.max_bad == 0 && !options.decoding.stream;
}

/// Moves the files of one of these parts out of `all`.
LabelledFiles take_parts(LabelledFiles& all, std::initializer_list<Part> parts) {
  LabelledFiles some{all.name, all.where, all.kind, all.value_names, all.feature_names, {}, {}};
  const auto is_other = [&](const LabelledFile& file) {
    return std::ranges::find(parts, file.part) == parts.end();
  };
  if (std::ranges::none_of(all.files, is_other)) {
    some.files.swap(all.files);
    return some;
  }
  const auto first = std::ranges::all_of(all.files, is_other)
                         ? all.files.end()
                         : std::stable_partition(all.files.begin(), all.files.end(), is_other);
  some.files.assign(std::move_iterator(first), std::move_iterator(all.files.end()));
  all.files.erase(first, all.files.end());
  return some;
}

void keep_classes(LabelledFiles& files, const std::vector<std::string>& classes) {
  if (files.kind != TargetKind::classes)
    fail<UsageError>("'{}' has no classes to select: {}",
                     files.where,
                     files.kind == TargetKind::values ? "its targets are real numbers"
                                                      : "its images have several labels");
  const std::vector<std::string> there = class_names(files);
  for (const std::string& name : classes) {
    if (std::ranges::find(there, name) == there.end())
      fail<DataError>("'{}' has no image of class '{}'; it has: {}{}",
                      files.where,
                      name,
                      join(there),
                      alike_hint(name, there));
    if (std::ranges::count(classes, name) > 1) fail<UsageError>("class '{}' is named twice", name);
  }
  std::erase_if(files.files, [&](const LabelledFile& file) {
    return std::ranges::find(classes, file.labels.front()) == classes.end();
  });
}

void require_known_labels(const LabelledFiles& files,
                          const std::vector<std::string>& known,
                          const char* who) {
  Positions positions(known);
  for (const LabelledFile& file : files.files)
    for (const std::string& label : file.labels)
      if (positions.find(label) == nullptr)
        fail<DataError>("{}: '{}' is '{}', which is not in {}: it has {}{}",
                        file.where.empty() ? "'" + files.where + "'" : file.where,
                        file.path,
                        label,
                        who,
                        join(known),
                        alike_hint(label, known));
}

/// Returns whether a path is like "C:\\photos\\1.jpg" or "\\\\server\\photos\\1.jpg".
bool is_absolute_on_windows(const std::string& path) {
  const bool disk = path.size() > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') &&
                    std::isalpha(static_cast<unsigned char>(path[0])) != 0;
  return disk || path.starts_with("\\\\");
}

/// Returns the path, or a variant of it, under which the file exists.
std::string found_in(const FileTree& tree, const LabelledFile& file) {
  if (tree.has_file(file.path)) return file.path;
  std::string path = file.path;
  if (is_absolute_on_windows(path))
    fail<DataError>(
        "{}: '{}' is an absolute Windows path: use paths relative to a folder, and set that folder "
        "with ':root=PATH'",
        file.where,
        path);
  std::ranges::replace(path, '\\', '/');
  std::string plain = fs::path(path).lexically_normal().native();
  return tree.has_file(plain) ? plain : file.path;
}

std::vector<std::string> classes_missing_in(const Dataset& set) {
  std::vector<std::string> missing;
  const std::vector<std::int64_t> counts = class_counts(set);
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (counts[c] == 0) missing.push_back(set.classes[c]);
  return missing;
}

void warn_of_missing_classes(const Dataset& valid, const std::string& where) {
  if (valid.target_kind == TargetKind::values) return;
  const std::vector<std::string> missing = classes_missing_in(valid);
  if (!missing.empty())
    log::warn("[data] '{}' has no validation images of '{}': metrics do not cover these classes",
              where,
              join(missing, "', '"));
}

void require_training_files(const LabelledFiles& train, const std::vector<std::string>& classes) {
  const std::vector<std::string> there = class_names(train);
  for (const std::string& name : classes)
    if (std::ranges::find(there, name) == there.end())
      fail<DataError>("'{}' has no training image of class '{}'", train.where, name);
}

}  // namespace

void find_files(const FileTree& tree, LabelledFiles& files, const std::string& hint) {
  for (LabelledFile& file : files.files)
    if (const std::string& path = file.path; path.find('\\') != std::string::npos ||
                                             path.find(':') != std::string::npos ||
                                             path.starts_with("./"))
      file.path = found_in(tree, file);
  if (std::ranges::none_of(files.files,
                           [&](const LabelledFile& file) { return tree.has_file(file.path); }))
    fail<DataError>("none of the {} files of '{}' is in '{}' (the first is '{}'): {}",
                    files.files.size(),
                    files.where,
                    tree.text(),
                    files.files.front().path,
                    hint);
}

DataPair read_labelled(const FileTree& tree, LabelledFiles files, const LabelledOptions& options) {
  if (!options.classes.empty()) keep_classes(files, options.classes);
  LabelledFiles train = take_parts(files, {Part::unsaid, Part::train});
  if (train.files.empty())
    fail<DataError>("'{}' has no image for training, {} for validation or tests",
                    files.where,
                    files.files.size());
  const std::vector<std::string> classes =
      options.classes.empty() ? class_names(train) : options.classes;
  if (!options.classes.empty()) require_training_files(train, classes);
  warn_of_single_files(train, classes.size());
  LabelledFiles valid = take_parts(files, {Part::valid});
  if (valid.files.empty()) valid = take_parts(files, {Part::test});
  const auto read = [&](Dataset set) {
    return decoded(tree, files.where, std::move(set), options.decoding);
  };
  const bool first = chooses_first(options);
  const auto read_now = [&](Dataset set) { return first ? set : read(std::move(set)); };
  DataPair pair{read_now(undecoded(std::move(train), classes, Split::train)), {}};
  if (const bool split = options.valid_fraction || valid.files.empty(); split) {
    pair = split_off(pair.train, options.valid_fraction.value_or(0.2), options.seed);
  } else {
    require_known_labels(valid, classes, "the training part");
    pair.valid = read_now(undecoded(std::move(valid), classes, Split::test));
    warn_of_missing_classes(pair.valid, files.where);
  }
  if (first) {
    pair.train = read(limited(std::move(pair.train), options.train_limit));
    pair.valid = read(limited(std::move(pair.valid), options.valid_limit));
  }
  check_same_size(pair, files.where + ": ");
  return pair;
}

Dataset read_labelled_for_evaluation(const FileTree& tree,
                                     LabelledFiles files,
                                     const LabelledOptions& options) {
  for (const Part part : {Part::test, Part::valid}) {
    LabelledFiles some = take_parts(files, {part});
    if (some.files.empty()) continue;
    files = std::move(some);
    break;
  }
  require_known_labels(files, options.classes, "the model");
  const std::string where = files.where;
  Dataset set = undecoded(std::move(files), options.classes, Split::test);
  if (chooses_first(options)) set = limited(std::move(set), options.valid_limit);
  return decoded(tree, where, std::move(set), options.decoding);
}

}  // namespace learn::data
