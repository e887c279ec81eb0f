#include "data/registry.h"

#include "data/cifar10.h"
#include "data/image_folder.h"
#include "data/synthetic10.h"
#include "framework/core/error.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Where to look for a published archive's folder, in order.
std::vector<fs::path> places(const DataOptions& options, const char* folder) {
  if (!options.directory.empty()) return {options.directory / folder, options.directory};
  std::vector<fs::path> all;
  if (const char* home = std::getenv("LEARN_DATA"); home != nullptr && *home != '\0')
    all.push_back(fs::path(home) / folder);
  all.push_back(fs::path("data") / folder);
  return all;
}

/// The first place that holds `file`; empty if none does.
fs::path find(const std::vector<fs::path>& places, const char* file) {
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::exists(place / file, error)) return place;
  return {};
}

std::string list(const std::vector<fs::path>& places) {
  std::vector<std::string> texts;
  std::transform(places.begin(), places.end(), std::back_inserter(texts), [](const fs::path& p) {
    return p.string();
  });
  return join(texts);
}

fs::path require(const DataOptions& options, const CifarArchive& archive, const char* file) {
  const std::vector<fs::path> all = places(options, archive.folder);
  fs::path found = find(all, file);
  if (found.empty()) {
    const fs::path home = all.front().parent_path();
    fail<DataError>(
        "'{}' not found in {}.\nGet {} ({} bytes, MD5 {}), then: mkdir -p '{}' && tar -xzf "
        "{} -C '{}'",
        file,
        list(all),
        archive.url,
        archive.bytes,
        archive.md5,
        home.string(),
        fs::path(archive.url).filename().string(),
        home.string());
  }
  return found;
}

constexpr const char* kCifar10File = "test_batch.bin";
constexpr const char* kCifar100File = "test.bin";

/// Classes, a split and limits: the same for every data set of fixed parts.
DataPair narrowed(Dataset train, Dataset valid, const DataOptions& options) {
  if (!options.classes.empty()) {
    train = only_classes(train, options.classes);
    valid = only_classes(valid, options.classes);
  }
  return {limited(std::move(train), options.train_limit),
          limited(std::move(valid), options.valid_limit)};
}

template <class Read>
DataPair load_cifar(const fs::path& place, const DataOptions& options, Read read) {
  const CifarOptions cifar{.verify = options.verify};
  Dataset train = read(place, Split::train, cifar);
  if (options.valid_fraction.has_value()) {
    DataPair pair = split_off(train, *options.valid_fraction, options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  return narrowed(std::move(train), read(place, Split::test, cifar), options);
}

DataPair load_cifar10(const DataOptions& options) {
  return load_cifar(require(options, kCifar10Archive, kCifar10File), options, read_cifar10);
}

DataPair load_cifar100(const DataOptions& options) {
  return load_cifar(require(options, kCifar100Archive, kCifar100File), options, read_cifar100);
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
  Dataset train = draw(Split::train, options.train_limit, kSyntheticTrain);
  if (options.valid_fraction.has_value()) {
    DataPair pair = split_off(train, *options.valid_fraction, options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  return narrowed(
      std::move(train), draw(Split::test, options.valid_limit, kSyntheticTest), options);
}

DataPair load_folder(const fs::path& path, const DataOptions& options) {
  DataPair pair = from_folder(path,
                              {.classes = options.classes,
                               .valid_fraction = options.valid_fraction,
                               .seed = options.seed,
                               .size = options.image_size,
                               .max_bad = options.max_bad,
                               .threads = options.threads,
                               .progress = options.progress});
  return {limited(std::move(pair.train), options.train_limit),
          limited(std::move(pair.valid), options.valid_limit)};
}

DataPair load_auto(const DataOptions& options) {
  if (!find_cifar10(options).empty()) return load_cifar10(options);
  log::info(
      "[data] note: CIFAR-10 not found in {}; using synthetic10 (procedural shapes, NOT "
      "CIFAR-10)",
      list(places(options, kCifar10Archive.folder)));
  return load_synthetic(SyntheticLevel::normal, options);
}

}  // namespace

fs::path find_cifar10(const DataOptions& options) {
  return find(places(options, kCifar10Archive.folder), kCifar10File);
}

fs::path find_cifar100(const DataOptions& options) {
  return find(places(options, kCifar100Archive.folder), kCifar100File);
}

Registry<DataFactory> datasets() {
  Registry<DataFactory> registry("data set");
  registry.add("auto", "cifar10 if it is found, otherwise synthetic10", load_auto);
  registry.add("cifar10", "CIFAR-10, binary version: 50,000 + 10,000 photographs", load_cifar10);
  registry.add("cifar100", "CIFAR-100, binary version, 100 fine classes", load_cifar100);
  registry.add("synthetic10",
               "ten drawn shapes in CIFAR-10's format, computed: needs no file",
               [](const DataOptions& o) { return load_synthetic(SyntheticLevel::normal, o); });
  registry.add("synthetic10-hard",
               "the same, fainter, smaller, at all angles, with more clutter",
               [](const DataOptions& o) { return load_synthetic(SyntheticLevel::hard, o); });
  return registry;
}

DataPair load(std::string_view name, const DataOptions& options) {
  const Registry<DataFactory> known = datasets();
  if (known.contains(name)) return known.at(name).value(options);
  std::error_code error;
  if (name.find('/') != std::string_view::npos || fs::is_directory(fs::path(name), error))
    return load_folder(fs::path(name), options);
  return known.at(name).value(options);  // throws: lists the known names
}

}  // namespace learn::data
