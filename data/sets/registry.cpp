#include "data/sets/registry.h"

#include "data/duplicates.h"
#include "data/names/class_names.h"
#include "data/registrations.h"
#include "framework/core/error.h"

#include <fmt/core.h>

namespace learn::data {

namespace fs = std::filesystem;

DataRegistry dataset_registry() {
  DataRegistry registry("data set");
  for (const auto& add_to : kRegistrations) add_to(registry);
  return registry;
}

namespace {

/// Returns the kind of data set at a path.
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
