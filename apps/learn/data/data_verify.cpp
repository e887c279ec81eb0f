#include "apps/experiment/progress_line.h"
#include "apps/experiment/spec_flag.h"
#include "apps/learn/data/data_command.h"
#include "apps/learn/data/data_findings.h"
#include "data/duplicates.h"
#include "data/files/file_tree.h"
#include "data/files/in_parallel.h"
#include "data/images/image.h"
#include "data/names/class_names.h"
#include "data/sets/array_set.h"
#include "data/sets/cifar10.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/io/digest.h"

#include <algorithm>
#include <map>

namespace learn::cli {
namespace {

/// Result of decoding an image.
struct Seen {
  std::string name;
  std::string target;   ///< its class, labels or values
  std::string pixels;   ///< size and digest; empty if it is damaged
  std::string problem;  ///< why it is damaged
  data::ImageSize size;
};

/// So that nothing is decoded before it is verified, images are left in their files where they are
/// files: then only their names and labels are read here.
data::DataPair load(const DataCommandOptions& o) {
  const DataSection& section = o.experiment().data;
  Spec spec = data::dataset_spec(section.data);
  const std::string* const path = find_option(spec, "path");
  const auto in_records = [&] {
    const auto tree = data::open_tree(*path);
    return data::holds_cifar(*tree) || data::holds_arrays(*tree);
  };
  const bool binary = spec.name == "folder" && path != nullptr && in_records();
  if (data::lies_at_path(spec) && !binary && find_option(spec, "features") == nullptr) {
    std::erase_if(spec.options, [](const auto& option) {
      return option.first == "max_bad" || option.first == "skip_bad" || option.first == "stream" ||
             option.first == "size" || option.first == "cache";
    });
    for (const auto& [name, value] : {std::pair{"stream", "true"}, {"size", "1"}, {"cache", "0"}})
      spec.options.emplace_back(name, value);
  }
  return data::load(spec,
                    {.directory = section.data_dir,
                     .threads = static_cast<int>(o.experiment().device.threads),
                     .progress = progress_line("reading")});
}

std::string target_of(const data::Dataset& set, std::int64_t i) {
  if (set.target_kind != data::TargetKind::values) return join(labels_of(set, i));
  std::vector<std::string> values;
  for (const float value : set.targets_of(i)) values.push_back(fmt::format("{:g}", value));
  return join(values);
}

Seen look_at(const data::Dataset& set, std::int64_t i) {
  Seen seen{.name = image_name(set, i), .target = target_of(set, i)};
  Digest digest(Digest::Kind::sha256);
  try {
    if (set.source != nullptr) {
      const data::Image image = set.source->decode(set.places[static_cast<std::size_t>(i)]);
      seen.size = {image.height, image.width};
      digest.update(image.pixels);
    } else if (set.form().floats) {
      const auto values = set.features_of(i);
      digest.update({reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
    } else {
      seen.size = {set.height, set.width};
      digest.update(set.image(i));
    }
    seen.pixels = fmt::format("{}x{} {}", seen.size.width, seen.size.height, digest.hex());
  } catch (const DataError& error) {
    seen.problem = error.what();
  }
  return seen;
}

std::vector<Seen> look_at(const data::Dataset& set, int threads) {
  std::vector<Seen> seen(static_cast<std::size_t>(set.size()));
  data::in_parallel(set.size(), threads, progress_line("verifying"), [&](std::int64_t i) {
    seen[static_cast<std::size_t>(i)] = look_at(set, i);
  });
  return seen;
}

void find_damaged(const std::vector<Seen>& part, DataFindings& findings) {
  for (const Seen& image : part)
    if (!image.problem.empty()) findings.damaged.push_back({image.name, image.problem});
}

/// Images of the same pixels: within a part, in both, and with targets that disagree.
void find_equal(const std::vector<Seen>& train,
                const std::vector<Seen>& valid,
                DataFindings& findings) {
  std::map<std::string, const Seen*> first_in_train;
  std::map<std::string, const Seen*> first;
  for (const std::vector<Seen>* part : {&train, &valid}) {
    std::map<std::string, const Seen*> here;
    for (const Seen& image : *part) {
      if (image.pixels.empty()) continue;
      if (part == &train) first_in_train.emplace(image.pixels, &image);
      if (const auto [at, fresh] = here.emplace(image.pixels, &image); !fresh)
        findings.repeated.push_back({image.name, "is " + at->second->name});
      if (part == &valid)
        if (const auto at = first_in_train.find(image.pixels); at != first_in_train.end())
          findings.in_both.push_back({image.name, "is " + at->second->name});
      if (const auto [at, fresh] = first.emplace(image.pixels, &image);
          !fresh && at->second->target != image.target)
        findings.disagreeing.push_back({image.name,
                                        fmt::format("is '{}', {}, which is equal, is '{}'",
                                                    image.target,
                                                    at->second->name,
                                                    at->second->target)});
    }
  }
}

void find_sizes(const std::vector<Seen>& part, DataFindings& findings) {
  for (const Seen& image : part)
    if (image.problem.empty())
      ++findings.sizes[fmt::format("{}x{}", image.size.width, image.size.height)];
}

void find_passed_over(const data::DataPair& pair, DataFindings& findings) {
  for (const data::PassedOver& file : pair.passed_over)
    (file.may_be_image ? findings.lost : findings.passed_over).push_back({file.file, file.kind});
}

void find_empty_classes(const data::DataPair& pair, DataFindings& findings) {
  if (pair.train.target_kind == data::TargetKind::values) return;
  for (const data::Dataset* set : {&pair.train, &pair.valid}) {
    const std::vector<std::int64_t> counts = class_counts(*set);
    for (std::size_t c = 0; c < counts.size(); ++c)
      if (counts[c] == 0)
        findings.empty.push_back({set->classes[c],
                                  fmt::format("has no {} {}",
                                              set == &pair.train ? "training" : "validation",
                                              data::sample_word(*set))});
  }
}

void find_alike(const data::DataPair& pair, DataFindings& findings) {
  for (const auto& [first, second] : data::alike_names(pair.train.classes))
    findings.alike.push_back({"'" + second + "'", "looks like '" + first + "'"});
}

}  // namespace

int data_verify(const DataCommandOptions& o) {
  const data::DataPair pair = load(o);
  const auto threads = static_cast<int>(o.experiment().device.threads);
  const std::vector<Seen> train = look_at(pair.train, threads);
  const std::vector<Seen> valid = look_at(pair.valid, threads);
  DataFindings findings{.name = pair.train.name,
                        .samples = std::string(data::sample_word(pair.train)),
                        .images = std::ssize(train) + std::ssize(valid)};
  for (const std::vector<Seen>* part : {&train, &valid}) {
    find_damaged(*part, findings);
    if (pair.train.form().is_image()) find_sizes(*part, findings);
  }
  find_equal(train, valid, findings);
  find_passed_over(pair, findings);
  find_empty_classes(pair, findings);
  find_alike(pair, findings);
  console::print(o.json ? to_json(findings) : to_text(findings, o.all));
  return static_cast<int>(findings.wrong() ? ExitCode::data : ExitCode::ok);
}

}  // namespace learn::cli
