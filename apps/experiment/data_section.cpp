#include "apps/experiment/data_section.h"

#include "apps/experiment/spec_flag.h"
#include "data/sets/registry.h"
#include "framework/core/log.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace learn {
namespace {

/// Returns the smaller of two limits, which 0 does not set.
std::int64_t smaller_limit(std::int64_t a, std::int64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

std::int64_t unlimited_size(const data::Dataset& part, std::int64_t limit) {
  return smaller_limit(std::max(part.size(), part.drawn_from), limit);
}

bool takes_share(const ImageLimit& limit) { return limit.share() != nullptr && *limit.share() < 1; }

}  // namespace

data::Normalization parse_normalization(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  data::Normalization out;
  const std::size_t channels = parts.size() / 2;
  for (std::size_t i = 0; i < parts.size() && parts.size() % 2 == 0; ++i) {
    const bool deviation = i >= channels;
    (deviation ? out.std : out.mean)
        .push_back(static_cast<float>(parse_real(parts[i], deviation ? kPositive : kAnyNumber)));
  }
  if (out.mean.empty())
    fail<UsageError>(
        "'{}' is not auto, measured, cifar10, or as many means as standard deviations, "
        "R:G:B:R:G:B",
        text);
  return out;
}

Option& declare_data_dir(OptionTable& t, std::string& field) {
  Option& option = t.text("data-dir", field, "DIR", "folder of the data sets");
  option.when_absent = "$LEARN_DATA, then ./data";
  return option;
}

void DataSection::declare(OptionTable& t) {
  t.group("Data");
  const std::vector<std::string> sets = data::dataset_registry().names();
  Option& set =
      t.text("data",
             data,
             "NAME|PATH",
             join(sets) + ", or a folder or archive of images, or a table or list of them");
  set.set = [this](const std::string& text) {
    (void)data::dataset_spec(text);
    data = text;
  };
  // Resuming compares the data themselves with the run's.
  set.may_change = true;
  declare_data_dir(t, data_dir).may_change = true;
  t.list("classes",
         classes,
         ',',
         "A,B,...",
         "use only these classes, in this order; enclose a name with a comma in double quotes");
  t.number(
      "val-split",
      val_split,
      kShare,
      "SHARE",
      "hold out this share of the training images for validation instead of using the test set");
  t.text("train-limit",
         train_limit,
         "N|SHARE",
         "number of training images, or a share written with a decimal point: 0.1");
  t.number("valid-limit", valid_limit, kNotNegative, "N", "number of validation images; 0: all");
  t.number("image-size",
           image_size,
           {.low = 0, .high = data::kImageSide.high},
           "N",
           "resize images to N x N; 0: keep their size");
  Option& statistics =
      t.text("normalize",
             normalize,
             "auto|measured|cifar10|R:G:B:R:G:B",
             "mean and standard deviation of the colours: measured on the training images, "
             "CIFAR-10's published ones, or these; auto: published for cifar10, else measured");
  statistics.set = [this](const std::string& text) {
    if (text != "auto" && text != "measured" && text != "cifar10") (void)parse_normalization(text);
    normalize = text;
  };
  t.choice("sampling",
           sampling,
           {"uniform", "balanced"},
           "training images of an epoch: each once, or drawn with replacement so that all classes "
           "are equally frequent");
  t.flag("drop-last",
         drop_last,
         "drop an incomplete last training batch; the dropped images change with each epoch");
  t.number("workers",
           workers,
           {.low = 0, .high = 64},
           "N",
           "threads that prepare batches; 0: use the training thread")
      .may_change = true;
  t.number("prefetch", prefetch, {.low = 1, .high = 64}, "N", "batches prepared in advance")
      .may_change = true;
}

void DataSection::check() const {
  if (workers == 0 && prefetch != DataSection().prefetch)
    fail<UsageError>("--prefetch {} has no effect with --workers 0", prefetch);
}

void DataSection::leave_out_without_effect(const std::set<std::string>& given) {
  if (given.contains("workers") && !given.contains("prefetch") && workers == 0)
    prefetch = DataSection().prefetch;
  if (given.contains("data") && !given.contains("image-size") &&
      !takes_flag(data::dataset_spec(data), data::dataset_registry(), "size"))
    image_size = 0;
}

void DataSection::warn_on_device() const {
  const DataSection usual;
  for (const auto& [name, value, usually] : {std::tuple{"workers", workers, usual.workers},
                                             std::tuple{"prefetch", prefetch, usual.prefetch}})
    if (value != usually)
      log::warn("[device] --{} {} has no effect: the batches are made on the GPU", name, value);
}

void DataSection::leave_out_validation() {
  validates = false;
  valid_limit = 1;
}

std::optional<std::filesystem::path> DataSection::place() const {
  if (!found_at.empty()) return found_at;
  const Spec spec = data::dataset_spec(data);
  if (data::lies_at_path(spec)) {
    const std::string* const given = find_option(spec, "path");
    const std::filesystem::path path = given != nullptr ? *given : std::string();
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) ? path : std::filesystem::path();
  }
  const data::DataOptions where{.directory = data_dir};
  if (spec.name == "cifar10") return data::find_cifar10(where);
  if (spec.name == "cifar100") return data::find_cifar100(where);
  if (spec.name != "auto") return std::nullopt;
  const std::filesystem::path found = data::find_cifar10(where);
  return found.empty() ? std::nullopt : std::optional(found);
}

std::vector<std::filesystem::path> DataSection::sources() const {
  const auto at = place();
  if (!at || at->empty()) return {};
  return {*at};
}

std::int64_t DataSection::train_size(const data::DataPair& loaded) const {
  const std::int64_t* const count = train_limit.count();
  if (takes_share(train_limit)) return loaded.train.size();
  return unlimited_size(loaded.train, count != nullptr ? *count : 0);
}

std::int64_t DataSection::valid_size(const data::DataPair& loaded) const {
  return unlimited_size(loaded.valid, valid_limit);
}

data::DataPair DataSection::load(std::int64_t seed,
                                 std::int64_t threads,
                                 data::DataProgress progress) const {
  Spec spec = data::dataset_spec(data);
  std::filesystem::path directory = data_dir;
  if (!found_at.empty()) {
    const bool by_path = data::lies_at_path(spec);
    for (auto& [key, value] : spec.options)
      if (by_path && key == "path") value = found_at.string();
    // A published set is given by the folder that holds its archive.
    if (!by_path)
      directory = std::filesystem::is_directory(found_at) ? found_at : found_at.parent_path();
  }
  if (image_size > 0)
    add_flag(spec, data::dataset_registry(), "image-size", "size", std::to_string(image_size));
  const std::int64_t* const given = train_limit.count();
  data::DataOptions options{
      .directory = directory,
      .classes = classes,
      .train_limit =
          takes_share(train_limit) ? 0 : smaller_limit(given != nullptr ? *given : 0, at_most),
      .valid_limit = smaller_limit(valid_limit, at_most),
      .seed = static_cast<std::uint64_t>(seed),
      .threads = static_cast<int>(threads),
      .progress = std::move(progress)};
  if (val_split > 0) options.valid_fraction = val_split;
  data::DataPair pair = data::load(spec, options);
  if (const double* const share = train_limit.share()) {
    const auto count = static_cast<std::int64_t>(*share * static_cast<double>(pair.train.size()));
    if (count < 1)
      fail<UsageError>("--train-limit {} leaves no image of {}", *share, pair.train.size());
    pair.train = data::limited(std::move(pair.train), count);
  }
  return pair;
}

data::Dataset DataSection::load_for_evaluation(data::ImageSize input,
                                               const std::vector<std::string>& known_classes,
                                               std::int64_t threads,
                                               data::DataProgress progress) const {
  return data::load(data::dataset_spec(data),
                    {.directory = data_dir,
                     .classes = known_classes,
                     .valid_limit = valid_limit,
                     .threads = static_cast<int>(threads),
                     .progress = std::move(progress),
                     .evaluation = input})
      .valid;
}

std::optional<data::Normalization> DataSection::normalization(const data::Dataset& train) const {
  if (normalize == "auto") return std::nullopt;
  if (normalize == "measured") return data::measure(train);
  return normalize == "cifar10" ? data::kCifarStats : parse_normalization(normalize);
}

data::LoaderOptions DataSection::loader_options() const {
  data::LoaderOptions options{.drop_last = drop_last,
                              .workers = static_cast<int>(workers),
                              .prefetch = static_cast<int>(prefetch)};
  if (sampling == "balanced") options.sampling = data::BalancedSampling{};
  return options;
}

}  // namespace learn
