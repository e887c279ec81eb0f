#include "data/image_folder.h"

#include "data/decode_files.h"
#include "data/file_tree.h"
#include "data/image_codec.h"
#include "data/label_list.h"
#include "framework/core/error.h"

#include <algorithm>
#include <array>

namespace learn::data {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::vector<std::string> class_names(const FileTree& tree, const fs::path& folder) {
  if (!tree.has_folder(folder)) fail<DataError>("there is no folder '{}'", tree.text(folder));
  std::vector<std::string> names = tree.folders(folder);
  if (names.empty())
    fail<DataError>(
        "'{}' has no class folders; if names of files say the class: ':label_regex=REGEX' behind "
        "the path",
        tree.text(folder));
  check_class_names(names, tree.text(folder));
  return names;
}

std::vector<fs::path> image_files(const FileTree& tree, const fs::path& folder) {
  std::vector<fs::path> files = tree.files(folder);
  std::erase_if(files, [](const fs::path& file) { return !has_image_name(file); });
  return files;
}

class FolderReader {
 public:
  FolderReader(const FileTree& tree,
               const fs::path& folder,
               Split split,
               const FolderOptions& options)
      : tree_(tree), folder_(folder), options_(options) {
    out_.name = tree.name();
    out_.split = split;
  }

  Dataset read() {
    collect();
    return decoded();
  }

  /// What there is of the classes.
  Dataset read_for_evaluation() {
    out_.classes = options_.classes;
    for (const std::string& name : class_names(tree_, folder_)) {
      const auto known = std::ranges::find(out_.classes, name);
      if (known == out_.classes.end())
        fail<DataError>(
            "'{}' has a folder for class '{}', which the model does not know: it knows {}",
            tree_.text(folder_),
            name,
            join(out_.classes));
      add_files(name, known - out_.classes.begin());
    }
    return decoded();
  }

 private:
  void collect() {
    const std::vector<std::string> present = class_names(tree_, folder_);
    out_.classes = options_.classes.empty() ? present : options_.classes;
    for (std::size_t label = 0; label < out_.classes.size(); ++label) {
      const std::string& name = out_.classes[label];
      if (std::count(out_.classes.begin(), out_.classes.end(), name) > 1)
        fail<UsageError>("class '{}' is named twice", name);
      if (!std::binary_search(present.begin(), present.end(), name))
        fail<DataError>("'{}' has no folder for class '{}'; it has: {}",
                        tree_.text(folder_),
                        name,
                        join(present));
      add_files(name, static_cast<std::int64_t>(label));
    }
  }

  void add_files(const std::string& name, std::int64_t label) {
    const std::vector<fs::path> files = image_files(tree_, folder_ / name);
    if (files.empty())
      fail<DataError>("class folder '{}' has no {} files: fill or remove it",
                      tree_.text(folder_ / name),
                      image_extensions());
    files_.insert(files_.end(), files.begin(), files.end());
    out_.labels.resize(files_.size(), label);
  }

  Dataset decoded() {
    return decode_files(tree_, tree_.text(folder_), files_, std::move(out_), options_.decoding);
  }

  const FileTree& tree_;
  fs::path folder_;
  const FolderOptions& options_;
  std::vector<fs::path> files_;
  Dataset out_;
};

constexpr std::array<const char*, 3> kValidNames{"valid", "val", "test"};

Dataset read_classes(const FileTree& tree,
                     const fs::path& folder,
                     Split split,
                     const FolderOptions& options) {
  return FolderReader(tree, folder, split, options).read();
}

fs::path find_valid(const FileTree& tree, const FolderOptions& options) {
  if (!options.valid.empty()) return options.valid;
  for (const char* name : kValidNames)
    if (tree.has_folder(name)) return name;
  fail<DataError>(
      "'{}' has a folder '{}' but none of valid, val, test beside it: add one, or have a share of "
      "the training images split off with --val-split SHARE",
      tree.text(),
      options.train);
}

DataPair read_train_and_valid(const FileTree& tree, const FolderOptions& options) {
  const fs::path train_path = options.train;
  if (options.valid_fraction.has_value())
    return split_off(read_classes(tree, train_path, Split::train, options),
                     *options.valid_fraction,
                     options.seed);
  const fs::path valid_path = find_valid(tree, options);
  if (tree.same_folder(valid_path, train_path))
    fail<UsageError>("'{}' cannot serve for training and for validation", tree.text(valid_path));
  DataPair pair{read_classes(tree, train_path, Split::train, options), {}};
  FolderOptions same_classes = options;
  same_classes.classes = pair.train.classes;
  if (options.classes.empty())
    for (const std::string& name : class_names(tree, valid_path))
      if (std::find(pair.train.classes.begin(), pair.train.classes.end(), name) ==
          pair.train.classes.end())
        fail<DataError>("class '{}' is in '{}' but not in '{}'",
                        name,
                        tree.text(valid_path),
                        tree.text(train_path));
  pair.valid = read_classes(tree, valid_path, Split::test, same_classes);
  check_same_size(pair, "");
  return pair;
}

bool by_path(const FolderOptions& options) {
  return !options.label_regex.empty() || !options.valid_regex.empty();
}

LabelledFiles labelled(const FileTree& tree, const FolderOptions& options) {
  return label_by_path(tree, options.label_regex, options.valid_regex);
}

LabelledOptions reading_of(const FolderOptions& options) {
  return {.classes = options.classes,
          .valid_fraction = options.valid_fraction,
          .seed = options.seed,
          .decoding = options.decoding};
}

DataPair read_pair(const FileTree& tree, const FolderOptions& options) {
  if (options.valid_fraction.has_value() && !options.valid_regex.empty())
    fail<UsageError>(
        "a regular expression of validation images ('{}') and a share to split off ({}) contradict "
        "each other",
        options.valid_regex,
        *options.valid_fraction);
  if (by_path(options)) return read_labelled(tree, labelled(tree, options), reading_of(options));
  if (options.valid_fraction.has_value() && !options.valid.empty())
    fail<UsageError>(
        "a validation folder ('{}') and a share to split off ({}) contradict each other",
        options.valid,
        *options.valid_fraction);
  DataPair pair;
  if (tree.has_folder(options.train)) {
    pair = read_train_and_valid(tree, options);
  } else {
    if (!options.valid.empty())
      fail<DataError>("'{}' has no folder '{}'", tree.text(), options.train);
    for (const char* split : kValidNames)
      if (tree.has_folder(split))
        fail<DataError>("'{}' has a folder '{}' but no folder '{}': it is not taken for a class",
                        tree.text(),
                        split,
                        options.train);
    pair = split_off(read_classes(tree, {}, Split::train, options),
                     options.valid_fraction.value_or(0.2),
                     options.seed);
  }
  return pair;
}

Dataset read_for_evaluation(const FileTree& tree, const FolderOptions& options) {
  if (by_path(options))
    return read_labelled_for_evaluation(tree, labelled(tree, options), reading_of(options));
  fs::path folder;
  for (const std::string& name : {options.train, "val"s, "valid"s, "test"s})
    if (tree.has_folder(name)) folder = name;
  Dataset out = FolderReader(tree, folder, Split::test, options).read_for_evaluation();
  if (!folder.empty()) out.name += "/" + folder.string();
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
