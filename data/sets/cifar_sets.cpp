// The published sets CIFAR-10 and CIFAR-100 by name.
#include "data/sets/cifar_sets.h"

#include "data/sets/cifar10.h"
#include "data/sets/fixed_parts.h"
#include "framework/core/environment.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Returns the places to look for published files, in order: folders, or the archive itself.
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

/// Returns the first place that holds the files; empty if none does.
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
        "'{}' not found in {}.\nGet {} ({} bytes, MD5 {}) and put the archive, or its content, "
        "into '{}'",
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

DataPair load_auto(const DataOptions& options) {
  if (!find_cifar10(options).empty()) return load_cifar10({}, options);
  fail<UsageError>(
      "--data is missing, and CIFAR-10 is not in {}. Use one of:\n  --data PATH         a folder "
      "or archive with a subfolder of images for each class, or a table of images\n  --data "
      "synthetic10  computed images of shapes; 'learn train --preset quick' trains on 10,000 of "
      "them in minutes\n  --data-dir DIR      a folder that contains CIFAR-10; 'learn train --data "
      "cifar10' explains where to get it",
      list(places(options, kCifar10Archive)));
}

}  // namespace

fs::path find_cifar10(const DataOptions& options) { return find(options, kCifar10Archive); }

fs::path find_cifar100(const DataOptions& options) { return find(options, kCifar100Archive); }

DataPair load_cifar_files(const FileTree& tree, bool verify, const DataOptions& options) {
  const CifarOptions cifar{.verify = verify};
  return tree.has_file(kCifar10Archive.file) ? load_cifar(tree, cifar, options, read_cifar10)
                                             : load_cifar(tree, cifar, options, read_cifar100);
}

void register_cifar(DataRegistry& registry) {
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
}

}  // namespace learn::data
