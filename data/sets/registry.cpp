#include "data/sets/registry.h"

#include "data/duplicates.h"
#include "data/files/file_tree.h"
#include "data/names/class_names.h"
#include "data/sets/array_set.h"
#include "data/sets/cifar10.h"
#include "data/sets/fixed_parts.h"
#include "data/sets/image_folder.h"
#include "data/sets/image_options.h"
#include "data/sets/listed_sets.h"
#include "data/sets/synthetic10.h"
#include "framework/core/environment.h"
#include "framework/core/error.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
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
  if (const char* const home = environment("LEARN_DATA"); home != nullptr)
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
  pair.passed_over = std::move(read.passed_over);
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

/// What a data set known by path can do.
struct PathOptions : ImageOptions {
  bool verify = true;
  bool parts = true;
  std::string label_regex;
  std::string valid_regex;

  /// Whether something is said about how images are read from files.
  [[nodiscard]] bool reads_files() const {
    return channels != PathOptions().channels || max_bad != 0 || skip_bad || stream ||
           !label_regex.empty() || !valid_regex.empty();
  }
};

void declare_folder(OptionTable& t, PathOptions& o) {
  declare_images(t, o, "folder or archive");
  t.text("label_regex",
         o.label_regex,
         "REGEX",
         "the class by the file's path, its first group: (.+)_\\d+.jpg$; not by its folder");
  t.text("valid_regex", o.valid_regex, "REGEX", "validate on the files whose path it matches");
  t.flag("parts", o.parts, "folders called train, valid, test or the like are parts, not classes");
  t.flag("verify",
         o.verify,
         "of CIFAR's binary files: refuse those whose MD5 is not the published one");
}

/// The files of CIFAR are known by their names.
DataPair load_cifar_files(const FileTree& tree,
                          const PathOptions& folder,
                          const DataOptions& options) {
  if (folder.size != 0 || folder.reads_files() || !folder.parts)
    fail<UsageError>("'{}' holds CIFAR's binary files: of the options only verify has an effect",
                     folder.path.string());
  const CifarOptions cifar{.verify = folder.verify};
  return tree.has_file(kCifar10Archive.file) ? load_cifar(tree, cifar, options, read_cifar10)
                                             : load_cifar(tree, cifar, options, read_cifar100);
}

DataPair load_folder(const PathOptions& folder, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  if (folder.path.empty()) fail<UsageError>("folder: give its path, folder:path=PATH");
  std::error_code error;
  if (is_array_name(folder.path) && fs::is_regular_file(folder.path, error))
    fail<DataError>("'{}' is one array of a data set: give the folder that holds all of them",
                    folder.path.string());
  const std::shared_ptr<const FileTree> tree = open_tree(folder.path);
  if (holds_cifar(*tree)) return load_cifar_files(*tree, folder, options);
  refuse_cifar_pickles(*tree);
  if (!folder.verify)
    fail<UsageError>("'{}' holds no binary files of CIFAR: verify=false has no effect",
                     folder.path.string());
  if (holds_arrays(*tree)) {
    if (folder.reads_files())
      fail<UsageError>("'{}' holds arrays: of the options only size has an effect",
                       folder.path.string());
    return load_arrays(*tree, folder.size, options);
  }
  DataPair pair;
  const FolderOptions reading{.classes = options.classes,
                              .valid_fraction = options.valid_fraction,
                              .seed = options.seed,
                              .label_regex = folder.label_regex,
                              .valid_regex = folder.valid_regex,
                              .parts = folder.parts,
                              .decoding = folder.decoding(options, pair)};
  if (options.evaluation)
    pair.valid = evaluation_folder(*tree, reading);
  else
    take(pair, from_folder(*tree, reading));
  return limited(std::move(pair), options);
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
  add_listed_sets(registry);
  registry.add("folder",
               "a folder or archive of images, of CIFAR's binary files, of MNIST's, or of NumPy's "
               "arrays (.npz)",
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
  if (!options.evaluation) {
    warn_of_images_in_both(pair);
    warn_of_alike_names(pair.train.classes, pair.train.name);
  }
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
