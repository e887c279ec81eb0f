#include "data/labelled_files.h"

#include "framework/core/error.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// Those of the files, in an order that does not depend on theirs: "2" before "10" among numbers.
std::vector<std::string> class_names(const LabelledFiles& files) {
  std::set<std::string> names;
  for (const LabelledFile& file : files.files) names.insert(file.labels.begin(), file.labels.end());
  std::vector<std::string> sorted(names.begin(), names.end());
  if (std::ranges::all_of(sorted,
                          [](const std::string& name) { return whole_number(name).has_value(); }))
    std::ranges::stable_sort(
        sorted, {}, [](const std::string& name) { return *whole_number(name); });
  check_class_names(sorted, files.where);
  return sorted;
}

/// Images of `files`, which all have labels of `classes`.
Dataset decoded(const FileTree& tree,
                const LabelledFiles& files,
                const std::vector<std::string>& classes,
                Split split,
                const DecodeFilesOptions& decoding) {
  Dataset out;
  out.name = files.name;
  out.split = split;
  out.target_kind = files.kind;
  out.classes = files.kind == TargetKind::values ? files.value_names : classes;
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < classes.size(); ++i) position.emplace(classes[i], i);
  std::vector<fs::path> paths;
  for (const LabelledFile& file : files.files) {
    paths.push_back(file.path);
    if (files.kind == TargetKind::classes) {
      out.labels.push_back(static_cast<std::int64_t>(position.at(file.labels.front())));
    } else if (files.kind == TargetKind::values) {
      out.targets.insert(out.targets.end(), file.values.begin(), file.values.end());
    } else {
      const std::size_t row = out.targets.size();
      out.targets.resize(row + classes.size(), 0);
      for (const std::string& label : file.labels) out.targets[row + position.at(label)] = 1;
    }
  }
  return decode_files(tree, files.where, paths, std::move(out), decoding);
}

LabelledFiles of_parts(const LabelledFiles& all, std::initializer_list<Part> parts) {
  LabelledFiles some{all.name, all.where, all.kind, all.value_names, {}};
  std::ranges::copy_if(all.files, std::back_inserter(some.files), [&](const LabelledFile& file) {
    return std::ranges::find(parts, file.part) != parts.end();
  });
  return some;
}

void keep_classes(LabelledFiles& files, const std::vector<std::string>& classes) {
  if (files.kind != TargetKind::classes)
    fail<UsageError>("'{}' has no classes of which some could be chosen: {}",
                     files.where,
                     files.kind == TargetKind::values ? "its targets are real numbers"
                                                      : "an image may have several labels");
  const std::vector<std::string> there = class_names(files);
  for (const std::string& name : classes) {
    if (std::ranges::find(there, name) == there.end())
      fail<DataError>(
          "'{}' has no image of class '{}'; it has: {}", files.where, name, join(there));
    if (std::ranges::count(classes, name) > 1) fail<UsageError>("class '{}' is named twice", name);
  }
  std::erase_if(files.files, [&](const LabelledFile& file) {
    return std::ranges::find(classes, file.labels.front()) == classes.end();
  });
}

void require_known_labels(const LabelledFiles& files,
                          const std::vector<std::string>& known,
                          const char* who) {
  for (const LabelledFile& file : files.files)
    for (const std::string& label : file.labels)
      if (std::ranges::find(known, label) == known.end())
        fail<DataError>("{}: '{}' is '{}', which {} does not have: that has {}",
                        file.where,
                        file.path.string(),
                        label,
                        who,
                        join(known));
}

}  // namespace

DataPair read_labelled(const FileTree& tree, LabelledFiles files, const LabelledOptions& options) {
  if (!options.classes.empty()) keep_classes(files, options.classes);
  const LabelledFiles train = of_parts(files, {Part::unsaid, Part::train});
  if (train.files.empty())
    fail<DataError>("'{}' has no image for training, {} for validation or tests",
                    files.where,
                    files.files.size());
  const std::vector<std::string> classes =
      options.classes.empty() ? class_names(train) : options.classes;
  LabelledFiles valid = of_parts(files, {Part::valid});
  if (valid.files.empty()) valid = of_parts(files, {Part::test});
  if (options.valid_fraction || valid.files.empty())
    return split_off(decoded(tree, train, classes, Split::train, options.decoding),
                     options.valid_fraction.value_or(0.2),
                     options.seed);
  require_known_labels(valid, classes, "the training part");
  DataPair pair{decoded(tree, train, classes, Split::train, options.decoding), {}};
  pair.valid = decoded(tree, valid, classes, Split::test, options.decoding);
  check_same_size(pair, files.where + ": ");
  return pair;
}

Dataset read_labelled_for_evaluation(const FileTree& tree,
                                     LabelledFiles files,
                                     const LabelledOptions& options) {
  for (const Part part : {Part::test, Part::valid}) {
    LabelledFiles some = of_parts(files, {part});
    if (some.files.empty()) continue;
    files = std::move(some);
    break;
  }
  require_known_labels(files, options.classes, "the model");
  return decoded(tree, files, options.classes, Split::test, options.decoding);
}

}  // namespace learn::data
