#include "data/registry.h"

#include "data/cifar10.h"
#include "data/duplicates.h"
#include "data/file_tree.h"
#include "data/image_folder.h"
#include "data/label_list.h"
#include "data/resize.h"
#include "data/synthetic10.h"
#include "framework/core/error.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Where to look for published files, in order: a folder, or the archive itself.
std::vector<fs::path> places(const DataOptions& options, const CifarArchive& archive) {
  const fs::path packed = fs::path(archive.url).filename();
  if (!options.directory.empty())
    return {options.directory / archive.folder, options.directory, options.directory / packed};
  std::vector<fs::path> homes{"data"};
  if (const char* home = std::getenv("LEARN_DATA"); home != nullptr && *home != '\0')
    homes.insert(homes.begin(), home);
  std::vector<fs::path> all;
  for (const fs::path& home : homes) all.insert(all.end(), {home / archive.folder, home / packed});
  return all;
}

/// The first place that holds the files; empty if none does.
fs::path find(const DataOptions& options, const CifarArchive& archive) {
  std::error_code error;
  for (const fs::path& place : places(options, archive))
    if (fs::exists(place / archive.file, error) || fs::is_regular_file(place, error)) return place;
  return {};
}

std::string list(const std::vector<fs::path>& places) {
  std::vector<std::string> texts;
  std::transform(places.begin(), places.end(), std::back_inserter(texts), [](const fs::path& p) {
    return p.string();
  });
  return join(texts);
}

fs::path require(const DataOptions& options, const CifarArchive& archive) {
  fs::path found = find(options, archive);
  if (found.empty()) {
    const std::vector<fs::path> all = places(options, archive);
    fail<DataError>(
        "'{}' not found in {}.\nGet {} ({} bytes, MD5 {}) and put it, or what it unpacks to, into "
        "'{}'",
        archive.file,
        list(all),
        archive.url,
        archive.bytes,
        archive.md5,
        all.front().parent_path().string());
  }
  return found;
}

/// The test images of a data set of fixed parts, as a model wants them that was trained on others.
DataPair for_evaluation(Dataset test, const DataOptions& options) {
  for (const std::string& name : options.classes)
    if (std::ranges::find(test.classes, name) == test.classes.end())
      fail<DataError>("the model knows a class '{}', '{}' has none: its classes are {}",
                      name,
                      test.name,
                      join(test.classes));
  if (test.classes != options.classes) test = only_classes(test, options.classes);
  test = limited(std::move(test), options.valid_limit);
  const ImageSize size{test.height, test.width};
  if (size != *options.evaluation)
    log::info("[data] scaled the {} images of '{}' from {}x{} to the model's input, {}x{}",
              test.size(),
              test.name,
              size.width,
              size.height,
              options.evaluation->width,
              options.evaluation->height);
  return {{}, resized(std::move(test), *options.evaluation)};
}

DataPair limited(DataPair pair, const DataOptions& options) {
  pair.train = limited(std::move(pair.train), options.train_limit);
  pair.valid = limited(std::move(pair.valid), options.valid_limit);
  return pair;
}

/// Classes, a split and limits: the same for every data set of fixed parts.
DataPair narrowed(Dataset train, Dataset valid, const DataOptions& options) {
  if (!options.classes.empty()) {
    train = only_classes(train, options.classes);
    valid = only_classes(valid, options.classes);
  }
  return limited({std::move(train), std::move(valid)}, options);
}

template <class Read>
DataPair load_cifar(const FileTree& tree,
                    const CifarOptions& cifar,
                    const DataOptions& options,
                    Read read) {
  if (options.evaluation) return for_evaluation(read(tree, Split::test, cifar), options);
  Dataset train = read(tree, Split::train, cifar);
  if (options.valid_fraction.has_value()) {
    DataPair pair = split_off(train, *options.valid_fraction, options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  return narrowed(std::move(train), read(tree, Split::test, cifar), options);
}

void declare_cifar(OptionTable& t, CifarOptions& o) {
  t.flag("verify", o.verify, "refuse files whose MD5 is not the published one");
}

DataPair load_cifar10(const CifarOptions& cifar, const DataOptions& options) {
  return load_cifar(*open_tree(require(options, kCifar10Archive)), cifar, options, read_cifar10);
}

DataPair load_cifar100(const CifarOptions& cifar, const DataOptions& options) {
  return load_cifar(*open_tree(require(options, kCifar100Archive)), cifar, options, read_cifar100);
}

/// Keeps what was skipped.
void take(DataPair& pair, DataPair read) {
  pair.train = std::move(read.train);
  pair.valid = std::move(read.valid);
}

/// For data sets to which it means nothing.
void refuse_directory(const char* name, const DataOptions& options) {
  if (!options.directory.empty())
    fail<UsageError>("{} do not lie in the folder of published data sets: '{}' has no effect",
                     name,
                     options.directory.string());
}

DataPair load_synthetic(SyntheticLevel level, const DataOptions& options) {
  // Any first part of it is balanced, so only what is needed is drawn.
  const bool whole = !options.classes.empty() || options.valid_fraction.has_value();
  const auto draw = [&](Split split, std::int64_t limit, std::int64_t all) {
    if (limit < 0) fail<UsageError>("the number of images must be 0 (all) or more, not {}", limit);
    return synthetic10({.level = level,
                        .split = split,
                        .count = whole ? 0 : std::min(limit, all),
                        .threads = options.threads,
                        .progress = options.progress});
  };
  if (options.evaluation)
    return for_evaluation(draw(Split::test, options.valid_limit, kSyntheticTest), options);
  Dataset train = draw(Split::train, options.train_limit, kSyntheticTrain);
  if (options.valid_fraction.has_value()) {
    DataPair pair = split_off(train, *options.valid_fraction, options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  return narrowed(
      std::move(train), draw(Split::test, options.valid_limit, kSyntheticTest), options);
}

/// How images are read, of whatever names their files.
struct ImageOptions {
  fs::path path;
  std::int64_t size = 0;
  std::int64_t channels = 3;
  double max_bad = 0;
  bool skip_bad = false;
  bool stream = false;
  std::int64_t cache = 1024;  // MiB

  [[nodiscard]] DecodeFilesOptions decoding(const DataOptions& options, DataPair& into) const {
    if (!stream && cache != ImageOptions().cache)
      fail<UsageError>("cache={} has no effect without stream=true", cache);
    DecodeFilesOptions decoding{.channels = channels,
                                .max_bad = skip_bad ? 1 : max_bad,
                                .say_scaled = options.evaluation.has_value(),
                                .threads = options.threads,
                                .progress = options.progress,
                                .skipped = &into.skipped,
                                .stream = stream,
                                .cache_bytes = cache << 20U};
    if (options.evaluation)
      decoding.size = options.evaluation;
    else if (size > 0)
      decoding.size = ImageSize{size, size};
    return decoding;
  }
};

void declare_images(OptionTable& t, ImageOptions& o, const char* what) {
  t.text("path", o.path, "PATH", what);
  t.number("size",
           o.size,
           {.low = 0, .high = kImageSide.high},
           "N",
           "resize images to N x N; 0: keep their size");
  t.number("channels", o.channels, {.low = 1, .high = 3}, "1|3", "3: colours; 1: grey");
  t.number("max_bad", o.max_bad, kShare, "SHARE", "largest share of damaged files to skip");
  t.flag("skip_bad", o.skip_bad, "skip damaged files however many there are");
  t.flag("stream", o.stream, "leave images in their files: decode them anew in each epoch");
  t.number("cache",
           o.cache,
           {.low = 0, .high = 1 << 24},
           "MIB",
           "with stream, memory for decoded images, so that some are decoded once");
}

/// What a data set known by path can do.
struct PathOptions : ImageOptions {
  bool verify = true;
  std::string label_regex;
  std::string valid_regex;
};

void declare_folder(OptionTable& t, PathOptions& o) {
  declare_images(t, o, "folder or archive");
  t.text("label_regex",
         o.label_regex,
         "REGEX",
         "the class by the file's path, its first group: (.+)_\\d+.jpg$; not by its folder");
  t.text("valid_regex", o.valid_regex, "REGEX", "validate on the files whose path it matches");
  t.flag("verify",
         o.verify,
         "of CIFAR's binary files: refuse those whose MD5 is not the published one");
}

/// The files of CIFAR are known by their names.
DataPair load_cifar_files(const FileTree& tree,
                          const PathOptions& folder,
                          const DataOptions& options) {
  const PathOptions usual;
  if (folder.size != usual.size || folder.channels != usual.channels || folder.max_bad != 0 ||
      folder.skip_bad || folder.stream || !folder.label_regex.empty() ||
      !folder.valid_regex.empty())
    fail<UsageError>("'{}' holds CIFAR's binary files: of the options only verify has an effect",
                     folder.path.string());
  const CifarOptions cifar{.verify = folder.verify};
  return tree.has_file(kCifar10Archive.file) ? load_cifar(tree, cifar, options, read_cifar10)
                                             : load_cifar(tree, cifar, options, read_cifar100);
}

DataPair load_folder(const PathOptions& folder, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  if (folder.path.empty()) fail<UsageError>("folder: give its path, folder:path=PATH");
  const std::shared_ptr<const FileTree> tree = open_tree(folder.path);
  if (holds_cifar(*tree)) return load_cifar_files(*tree, folder, options);
  if (!folder.verify)
    fail<UsageError>("'{}' holds no binary files of CIFAR: verify=false has no effect",
                     folder.path.string());
  DataPair pair;
  const FolderOptions reading{.classes = options.classes,
                              .valid_fraction = options.valid_fraction,
                              .seed = options.seed,
                              .label_regex = folder.label_regex,
                              .valid_regex = folder.valid_regex,
                              .decoding = folder.decoding(options, pair)};
  if (options.evaluation)
    pair.valid = evaluation_folder(*tree, reading);
  else
    take(pair, from_folder(*tree, reading));
  return limited(std::move(pair), options);
}

/// Lists of files.
struct ListOptions : ImageOptions {
  fs::path root;  ///< empty: the list's folder
};

std::shared_ptr<const FileTree> tree_of(const ListOptions& list, const char* kind) {
  if (list.path.empty()) fail<UsageError>("{0}: give its path, {0}:path=FILE", kind);
  if (!list.root.empty()) return open_tree(list.root);
  const fs::path folder = list.path.parent_path();
  return open_tree(folder.empty() ? "." : folder);
}

DataPair load_listed(const FileTree& tree,
                     LabelledFiles files,
                     const ListOptions& list,
                     const DataOptions& options) {
  DataPair pair;
  const LabelledOptions reading{.classes = options.classes,
                                .valid_fraction = options.valid_fraction,
                                .seed = options.seed,
                                .decoding = list.decoding(options, pair)};
  if (options.evaluation)
    pair.valid = read_labelled_for_evaluation(tree, std::move(files), reading);
  else
    take(pair, read_labelled(tree, std::move(files), reading));
  return limited(std::move(pair), options);
}

struct CsvOptions : ListOptions {
  TableColumns columns;
  char separator = '\0';  ///< by the file's name
};

void declare_csv(OptionTable& t, CsvOptions& o) {
  declare_images(t, o, "the table, with a header");
  t.text("root", o.root, "PATH", "folder or archive of the files; default: the table's folder");
  t.text(
      "image", o.columns.image, "COLUMN", "names of files; default: by usual names, or the first");
  t.text("label", o.columns.label, "COLUMN", "classes; default: by usual names, or the second");
  t.text("label_delim",
         o.columns.label_delim,
         "TEXT",
         "images have several labels, with this between them: ';' or space");
  t.list("targets", o.columns.targets, ',', "(A,B,...)", "columns of real numbers to predict");
  t.text("split",
         o.columns.split,
         "COLUMN",
         "train, valid or test; or true, for validation, and false; default: split or is_valid");
  t.text("suffix", o.columns.suffix, "TEXT", "to add to the names of files: .jpg");
  t.choice("separator",
           o.separator,
           {{"auto", '\0'}, {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}},
           "between cells; auto: tabs in a .tsv file, else commas");
}

DataPair load_csv(const CsvOptions& csv, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  const std::shared_ptr<const FileTree> tree = tree_of(csv, "csv");
  TableColumns columns = csv.columns;
  if (!columns.targets.empty() && (!columns.label.empty() || !columns.label_delim.empty()))
    fail<UsageError>(
        "csv: targets are numbers to predict, label and label_delim labels: one of them");
  if (columns.label_delim == "space") columns.label_delim.assign(1, ' ');
  const char usual = csv.path.extension() == ".tsv" ? '\t' : ',';
  const char separator = csv.separator == '\0' ? usual : csv.separator;
  return load_listed(*tree, read_label_table(csv.path, separator, columns), csv, options);
}

struct LinesOptions : ListOptions {
  fs::path valid;
  std::string label_regex;
};

void declare_lines(OptionTable& t, LinesOptions& o) {
  declare_images(t, o, "the list, a file and its label a line");
  t.text("root", o.root, "PATH", "folder or archive of the files; default: the list's folder");
  t.text("valid", o.valid, "FILE", "a list of the same kind, of the validation images");
  t.text("label_regex", o.label_regex, "REGEX", "lines are files alone: the class by their path");
}

DataPair load_lines(const LinesOptions& list, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  const std::shared_ptr<const FileTree> tree = tree_of(list, "list");
  const Part part = list.valid.empty() ? Part::unsaid : Part::train;
  LabelledFiles files = read_label_lines(list.path, part, list.label_regex);
  if (!list.valid.empty()) {
    if (options.valid_fraction)
      fail<UsageError>(
          "a list of validation images ('{}') and a share to split off ({}) contradict "
          "each other",
          list.valid.string(),
          *options.valid_fraction);
    LabelledFiles valid = read_label_lines(list.valid, Part::valid, list.label_regex);
    std::ranges::move(valid.files, std::back_inserter(files.files));
  }
  return load_listed(*tree, std::move(files), list, options);
}

DataPair load_auto(const DataOptions& options) {
  if (!find_cifar10(options).empty()) return load_cifar10({}, options);
  fail<UsageError>(
      "no data are named, and CIFAR-10 is not in {}. Name them:\n"
      "  --data PATH         a folder or archive with a subfolder of images for each class, or a "
      "table of images\n"
      "  --data synthetic10  drawn shapes, computed; 'learn train --preset quick' trains on 10,000 "
      "of them in minutes\n"
      "  --data-dir DIR      a folder that holds CIFAR-10; 'learn train --data cifar10' says where "
      "to get it",
      list(places(options, kCifar10Archive)));
}

}  // namespace

fs::path find_cifar10(const DataOptions& options) { return find(options, kCifar10Archive); }

fs::path find_cifar100(const DataOptions& options) { return find(options, kCifar100Archive); }

Registry<DataPair(const DataOptions&)> dataset_registry() {
  Registry<DataPair(const DataOptions&)> registry("data set");
  registry.add("auto", "cifar10 if it is found, otherwise an error", load_auto);
  registry.add("cifar10",
               "CIFAR-10, binary version: 50,000 + 10,000 photographs",
               CifarOptions{},
               declare_cifar,
               load_cifar10);
  registry.add("cifar100",
               "CIFAR-100, binary version, 100 fine classes",
               CifarOptions{},
               declare_cifar,
               load_cifar100);
  registry.add("csv",
               "a table with a header that says what is on the images of a folder",
               CsvOptions{},
               declare_csv,
               load_csv);
  registry.add("list",
               "a text file of images and their labels, one a line",
               LinesOptions{},
               declare_lines,
               load_lines);
  registry.add("folder",
               "a folder or archive of images, or of CIFAR's binary files",
               PathOptions{},
               declare_folder,
               load_folder);
  registry.add("synthetic10",
               "ten drawn shapes in CIFAR-10's format, computed: needs no file",
               [](const DataOptions& options) {
                 refuse_directory("computed data", options);
                 return load_synthetic(SyntheticLevel::normal, options);
               });
  registry.add("synthetic10-hard",
               "the same, fainter, smaller, at all angles, with more clutter",
               [](const DataOptions& options) {
                 refuse_directory("computed data", options);
                 return load_synthetic(SyntheticLevel::hard, options);
               });
  return registry;
}

namespace {

/// What a path leads to.
std::string kind_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return "folder";
  const std::string extension = path.extension().string();
  if (extension == ".csv" || extension == ".tsv") return "csv";
  return extension == ".txt" || extension == ".lst" ? "list" : "folder";
}

}  // namespace

bool lies_at_path(const Spec& spec) {
  return spec.name == "folder" || spec.name == "csv" || spec.name == "list";
}

Spec dataset_spec(std::string_view text) {
  const auto registry = dataset_registry();
  std::error_code error;
  // A path may hold colons.
  Spec spec = fs::exists(fs::path(text), error) ? Spec{std::string(text), {}} : Spec::parse(text);
  const bool is_path = !registry.contains(spec.name) && (spec.name.find('/') != std::string::npos ||
                                                         fs::exists(fs::path(spec.name), error));
  if (is_path) {
    spec.options.insert(spec.options.begin(), {"path", spec.name});
    spec.name = kind_of(spec.name);
  }
  (void)registry.make(spec);
  return spec;
}

DataPair load(const Spec& spec, const DataOptions& options) {
  DataPair pair = dataset_registry().make(spec)(options);
  if (!options.evaluation) warn_of_images_in_both(pair);
  if (!options.evaluation && pair.train.target_kind == TargetKind::classes &&
      pair.train.classes.size() < 2)
    fail<DataError>("'{}' has one class, '{}': there is nothing to learn",
                    pair.train.name,
                    join(pair.train.classes));
  return pair;
}

DataPair load(std::string_view spec, const DataOptions& options) {
  return load(dataset_spec(spec), options);
}

}  // namespace learn::data
