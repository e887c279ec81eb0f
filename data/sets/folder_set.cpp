// The data set "folder": a folder or an archive with any supported kind of files.
#include "data/sets/array_set.h"
#include "data/sets/cifar10.h"
#include "data/sets/cifar_sets.h"
#include "data/sets/fixed_parts.h"
#include "data/sets/image_folder.h"
#include "data/sets/image_options.h"
#include "framework/core/error.h"

#include <memory>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Moves the data of `read` into `pair`, but keeps `pair.skipped`.
void take(DataPair& pair, DataPair read) {
  pair.train = std::move(read.train);
  pair.valid = std::move(read.valid);
  pair.passed_over = std::move(read.passed_over);
}

/// Options of all data sets given by path.
struct PathOptions : ImageOptions {
  bool verify = true;
  bool parts = true;
  std::string label_regex;
  std::string valid_regex;

  /// Returns whether any option for reading images from files is set.
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
         "regular expression whose first group is the class, for the file's path instead of its "
         "folder: (.+)_\\d+.jpg$");
  t.text("valid_regex",
         o.valid_regex,
         "REGEX",
         "regular expression for the paths of validation files");
  t.flag("parts", o.parts, "folders named train, valid, test or similar are parts, not classes");
  t.flag("verify", o.verify, "refuse CIFAR's binary files if their MD5 is not the published one");
}

DataPair load_folder(const PathOptions& folder, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  if (folder.path.empty()) fail<UsageError>("folder: give its path, folder:path=PATH");
  std::error_code error;
  if (is_array_name(folder.path) && fs::is_regular_file(folder.path, error))
    fail<DataError>("'{}' is one array of a data set: give the folder that holds all of them",
                    folder.path.string());
  const std::shared_ptr<const FileTree> tree = open_tree(folder.path);
  if (holds_cifar(*tree)) {
    if (folder.size != 0 || folder.reads_files() || !folder.parts)
      fail<UsageError>("'{}' contains CIFAR's binary files: only the option verify has an effect",
                       folder.path.string());
    return load_cifar_files(*tree, folder.verify, options);
  }
  refuse_cifar_pickles(*tree);
  if (!folder.verify)
    fail<UsageError>("'{}' does not contain CIFAR's binary files: verify=false has no effect",
                     folder.path.string());
  if (holds_arrays(*tree)) {
    if (folder.reads_files())
      fail<UsageError>("'{}' contains arrays: only the option size has an effect",
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
                              .train_limit = options.train_limit,
                              .valid_limit = options.valid_limit,
                              .decoding = folder.decoding(options, pair)};
  if (options.evaluation)
    pair.valid = evaluation_folder(*tree, reading);
  else
    take(pair, from_folder(*tree, reading));
  return limited(std::move(pair), options);
}

}  // namespace

void register_folder(DataRegistry& registry) {
  registry.add("folder",
               "a folder or archive of images, of CIFAR's binary files, of MNIST's, or of NumPy's "
               "arrays (.npz)",
               PathOptions{},
               declare_folder,
               load_folder);
}

}  // namespace learn::data
