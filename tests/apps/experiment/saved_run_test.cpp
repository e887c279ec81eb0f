// Runs that are resumed when something has happened to their files or their data.
#include "apps/experiment/saved_run.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/reporting.h"
#include "framework/drawing/png.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/csv.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;
namespace fs = std::filesystem;

namespace {

OptionValues with(OptionValues values, const OptionValues& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

const OptionValues kTiny{{"data", "synthetic10"},
                         {"train-limit", "40"},
                         {"valid-limit", "20"},
                         {"batch-size", "20"},
                         {"epochs", "3"},
                         {"model", "linear"},
                         {"device", "cpu"},
                         {"threads", "1"},
                         {"workers", "0"},
                         {"plots", "false"},
                         {"progress", "false"}};

constexpr std::size_t kPixels = 192;  // 8x8, 3 channels

ExperimentOptions options_of(const OptionValues& values) {
  ExperimentOptions options;
  set_options(options.table(), values);
  return options;
}

void train(const fs::path& run, const OptionValues& values) {
  ExperimentOptions options = options_of(values);
  Experiment experiment(options);
  fs::create_directories(run);
  add_reporting(experiment, run, write_config(options.table(), "train"));
  experiment.fit();
}

std::set<std::string> names_of(const OptionValues& values) {
  std::set<std::string> names;
  for (const auto& [name, text] : values) names.insert(name);
  return names;
}

/// Resumes like `--resume`, with more options.
void resume(const fs::path& run, const OptionValues& values = {}) {
  ExperimentOptions options;
  const OptionTable table = options.table();
  set_saved_options(table, run);
  const ResumeGuard guard(options, table);
  set_options(table, values);
  guard.check(options, table, names_of(values), false);
  ExperimentOptions start = options;
  start.data = saved_data(start.data, run);
  Experiment experiment(start);
  add_reporting(experiment, run, write_config(table, "train"));
  resume_run(experiment, run);
  experiment.learner().resume();
  experiment.fit();
}

std::string bytes_of(const fs::path& file) { return read_text_file(file, std::size_t{1} << 24U); }
fs::path weights(const fs::path& run, const std::string& name) {
  return run / "weights" / (name + ".safetensors");
}

/// Two classes of flat images, `train` of each to train and two to validate on.
void make_images(const fs::path& folder, int train) {
  for (const std::string part : {"train", "test"})
    for (const int label : {0, 1}) {
      const fs::path place = folder / part / (label == 0 ? "dark" : "light");
      fs::create_directories(place);
      for (int i = 0; i < (part == "train" ? train : 2); ++i)
        write_png(
            place / (std::to_string(i) + ".png"),
            8,
            8,
            std::vector<std::uint8_t>(kPixels, static_cast<std::uint8_t>(150 * label + 9 * i)));
    }
}

/// Somewhere else, while it lives.
class Elsewhere {
 public:
  explicit Elsewhere(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~Elsewhere() { fs::current_path(before_); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  fs::path before_;
};

OptionValues images_at(const fs::path& folder) {
  return {{"data", folder.string()},
          {"batch-size", "4"},
          {"epochs", "2"},
          {"model", "linear"},
          {"device", "cpu"},
          {"threads", "1"},
          {"workers", "0"},
          {"augment", "none"},
          {"plots", "false"},
          {"progress", "false"}};
}

}  // namespace

TEST_CASE("a last state that is damaged or missing: the run resumes from the one before it") {
  const TemporaryFolder folder;
  const fs::path straight = folder / "straight";
  train(straight, kTiny);
  const std::string whole = bytes_of(weights(straight, "last"));
  std::string flipped = whole;
  flipped[flipped.size() - 5] = static_cast<char>(flipped[flipped.size() - 5] ^ 1);
  int number = 0;
  for (const std::optional<std::string>& damaged :
       {std::optional(flipped),
        std::optional(std::string()),
        std::optional(whole.substr(0, whole.size() / 2)),
        std::optional(whole.substr(0, 200)),
        std::optional<std::string>()}) {
    CAPTURE(number);
    const fs::path run = folder / ("run-" + std::to_string(number++));
    fs::copy(straight, run, fs::copy_options::recursive);
    if (damaged)
      write_file_atomically(weights(run, "last"), *damaged);
    else
      fs::remove(weights(run, "last"));
    const test::LogFile log;
    resume(run);
    CHECK(log.count("last.safetensors'") == 1);
    CHECK(log.count("last.prev.safetensors'") == 1);
    CHECK(bytes_of(weights(run, "best")) == bytes_of(weights(straight, "best")));
    const SafetensorsFile then(weights(straight, "last"));
    const SafetensorsFile now(weights(run, "last"));
    for (const auto& entry : then.tensors()) {
      const std::string& name = entry.first;
      // That one has the seconds that an epoch took.
      if (name.find("recorder") != std::string::npos) continue;
      CAPTURE(name);
      std::vector<std::byte> a(entry.second.end - entry.second.begin);
      std::vector<std::byte> b(a.size());
      then.read(entry.second, a);
      now.read(now.tensors().at(name), b);
      CHECK(a == b);
    }
    CHECK(SafetensorsFile(weights(run, "last.prev")).metadata().at("learn.epoch") == "2");
    CHECK(fs::exists(weights(run, "last.damaged")) == damaged.has_value());
  }
}

TEST_CASE("a finished run is extended with the same bits as by a second fit of its program") {
  const TemporaryFolder folder;
  const auto masters = [](Experiment& experiment) {
    const auto all = experiment.learner().params().flat_master().span<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  Experiment twice(options_of(with(kTiny, {{"ema", "0.9"}})));
  fs::create_directories(folder / "twice");
  add_reporting(twice, folder / "twice", "");
  twice.fit();
  twice.learner().fit(2);

  const fs::path run = folder / "run";
  train(run, with(kTiny, {{"ema", "0.9"}}));
  ExperimentOptions options;
  set_saved_options(options.table(), run);
  options.training.epochs = 2;
  Experiment extended(options);
  add_reporting(extended, run, write_config(options.table(), "train"));
  resume_run(extended, run);
  extended.fit();
  CHECK(masters(extended) == masters(twice));
  CHECK(extended.learner().progress().epoch_clock == 5);
  std::string epochs;
  for (const auto& row : read_csv(run / "results.csv").rows) epochs += row.front() + " ";
  CHECK(epochs == "1 2 3 4 5 ");
}

TEST_CASE("a resumed run keeps its options, and an extension keeps all except the rate") {
  ExperimentOptions options = options_of(kTiny);
  const OptionTable table = options.table();
  const ResumeGuard guard(options, table);
  set_options(table,
              {{"lr", "0.5"}, {"schedule", "cosine"}, {"warmup", "0.1"}, {"nan", "rollback"}});
  CHECK_NOTHROW(guard.check(options, table, {}, true));
  CHECK_THROWS_WITH_AS(
      guard.check(options, table, {}, false), doctest::Contains("--schedule"), UsageError);
  set_options(table, OptionValues{{"ema", "0.5"}});
  CHECK_THROWS_WITH_AS(guard.check(options, table, {}, true),
                       doctest::Contains("--ema: 0 then, 0.5 now"),
                       UsageError);
}

TEST_CASE("a run that is resumed continues in any precision, which is said once") {
  const TemporaryFolder folder;
  const std::vector<std::string> all = precision_names();
  std::vector<double> losses;
  for (const std::string& begun : all) {
    const fs::path first = folder / begun;
    train(first, with(kTiny, {{"precision", begun}, {"ema", "0.9"}}));
    fs::remove(weights(first, "last"));  // after two of three epochs
    for (const std::string& now : all) {
      CAPTURE(begun);
      CAPTURE(now);
      const fs::path run = folder / fmt::format("{} to {}", begun, now);
      fs::copy(first, run, fs::copy_options::recursive);
      const test::LogFile log;
      resume(run, {{"precision", now}});
      CHECK(log.count("a different training") == (now == begun ? 0 : 1));
      // To a state tf32 is fp32.
      const bool both_full = begun.ends_with("32") && now.ends_with("32");
      const std::string name = now == "tf32" && !both_full ? "fp32" : now;
      CHECK(log.count(" and continues in " + name) == (now == begun ? 0 : 1));
      const SafetensorsFile file(weights(run, "last"));
      CHECK(file.metadata().at("learn.epoch") == "3");
      ExperimentOptions options;
      set_saved_options(options.table(), file);
      CHECK(options.precision.chosen() == now);
      const auto results = read_csv(run / "results.csv");
      REQUIRE(results.rows.size() == 3);
      const std::size_t column = results.column("train_loss").value();
      // The third epoch, of one batch, starts with the weights of the second: halves round them,
      // and what they make, in 8 bits at the worst.
      losses.push_back(std::stod(results.rows[2][column]));
      CHECK(losses.back() == doctest::Approx(losses.front()).epsilon(0x1p-6));
      if (now == begun) CHECK(bytes_of(weights(run, "best")) == bytes_of(weights(first, "best")));
    }
  }
}

TEST_CASE("a run whose weights another precision cannot hold does not continue in it") {
  const TemporaryFolder folder;
  Experiment experiment(options_of(kTiny));
  Tensor weight = experiment.learner().params().master(0);
  set(weight, 0, 1e5);
  save_weights(folder / "w.safetensors", experiment.learner().params());
  const fs::path run = folder / "run";
  train(run, with(kTiny, {{"pretrained", (folder / "w.safetensors").string()}, {"lr", "1e-9"}}));
  fs::remove(weights(run, "last"));
  for (const char* const half : {"fp16", "fp16-amp", "pure-fp16"})
    CHECK_THROWS_WITH_AS(resume(run, {{"precision", half}}),
                         doctest::Contains("cannot be trained in f16, whose largest"),
                         UsageError);
  CHECK_NOTHROW(resume(run, {{"precision", "bf16"}}));
}

TEST_CASE("options for the old precision of a run are omitted in the new one") {
  const auto resumed = [](const OptionValues& begun, const OptionValues& given) {
    ExperimentOptions options = options_of(begun);
    const OptionTable table = options.table();
    const ResumeGuard guard(options, table);
    set_options(table, given);
    guard.check(options, table, names_of(given), false);
    options.check();
    CHECK(options.run.callbacks == options_of(given).run.callbacks);
    return options.precision;
  };
  const OptionValues half{{"precision", "fp16"}, {"loss-scale", "512"}, {"keep-fp32", "Linear"}};
  PrecisionSection now = resumed(half, {{"precision", "fp32"}});
  CHECK(now.loss_scale == "dynamic");
  CHECK(now.keep_fp32.empty());
  now = resumed(half, {{"precision", "bf16-amp"}});
  CHECK(now.loss_scale == "dynamic");
  CHECK(now.keep_fp32 == std::vector<std::string>{"Linear"});
  now = resumed(half, {{"precision", "fp16-amp"}});
  CHECK(now.loss_scale == "512");
  now = resumed({{"precision", "bf16"}},
                {{"precision", "fp16"}, {"loss-scale", "64"}, {"keep-fp32", "Linear"}});
  CHECK(now.loss_scale == "64");
  CHECK(now.keep_fp32 == std::vector<std::string>{"Linear"});
  CHECK(resumed({{"opt-level", "O2"}}, {{"precision", "bf16"}}).chosen() == "bf16");
  CHECK(resumed({{"precision", "bf16"}}, {{"opt-level", "O1"}}).chosen() == "fp16-amp");
  CHECK(resumed({{"opt-level", "O1"}}, {{"opt-level", "O2"}}).chosen() == "fp16");
  CHECK(resumed({{"opt-level", "O2"}, {"loss-scale", "8"}}, {{"precision", "fp16"}}).loss_scale ==
        "8");

  const OptionValues own{{"precision", "fp16"}, {"callbacks", "mixed_precision:loss_scale=64"}};
  const test::LogFile log;
  CHECK(resumed(own, {{"precision", "bf16"}}).callback() == "mixed_precision:dtype=bf16");
  CHECK(log.count("--callbacks mixed_precision:loss_scale=64 is left out") == 1);

  const auto refused = [&](const OptionValues& begun, const OptionValues& given, const char* why) {
    CHECK_THROWS_WITH_AS((void)resumed(begun, given), doctest::Contains(why), UsageError);
  };
  refused(half, {{"loss-scale", "64"}}, "--loss-scale: \"512\" then, \"64\" now");
  refused(half, {{"opt-level", "O2"}, {"keep-fp32", "layers.1"}}, "--keep-fp32");
  refused(half, {{"precision", "fp32"}, {"loss-scale", "64"}}, "--loss-scale needs --precision");
  refused(half, {{"precision", "bf16"}, {"opt-level", "O2"}}, "--opt-level O2 means");
  refused(own, {{"precision", "bf16"}, {"callbacks", own[1].second}}, "use --precision fp16");
  refused(own, {{"precision", "bf16"}, {"callbacks", "terminate_on_nan"}}, "--callbacks:");
}

TEST_CASE("two damaged states are an error that names both") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  train(run, kTiny);
  for (const std::string name : {"last", "last.prev"})
    write_file_atomically(weights(run, name), "short");
  CHECK_THROWS_WITH_AS(resume(run), doctest::Contains("last.safetensors"), CheckpointError);
  CHECK_THROWS_WITH_AS(resume(run), doctest::Contains("last.prev.safetensors"), CheckpointError);
}

TEST_CASE("a run is resumed on its own data only, wherever they lie") {
  const TemporaryFolder folder;
  make_images(folder / "photos", 6);
  const fs::path run = folder / "run";
  train(run, images_at(folder / "photos"));
  fs::remove(weights(run, "last"));  // from the first epoch

  const auto changed = [&](const std::string& image) {
    fs::copy(folder / "photos", folder / "changed", fs::copy_options::recursive);
    write_png(folder / "changed" / image, 8, 8, std::vector<std::uint8_t>(kPixels, 7));
    const auto refused = [&](const char* what) {
      CHECK_THROWS_WITH_AS(resume(run, {{"data", (folder / "changed").string()}}),
                           doctest::Contains(what),
                           DataError);
    };
    refused("at its start ('photos')");
    refused(image.starts_with("train") ? "training images" : "validation images");
    fs::remove_all(folder / "changed");
  };
  changed("train/dark/0.png");
  changed("test/light/1.png");

  fs::rename(folder / "photos", folder / "moved");
  CHECK_THROWS_WITH_AS(
      resume(run), doctest::Contains("; set --data if they have moved"), DataError);
  resume(run, {{"data", (folder / "moved").string()}});
  // And from then on it knows where they are.
  resume(run);
}

TEST_CASE("data that were named by a relative path are found from another folder") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  for (const std::string typed :
       {"photos", "./photos", "photos:size=4", "folder:path=photos,size=4"}) {
    CAPTURE(typed);
    make_images(folder / "photos", 6);
    {
      const Elsewhere in(folder.path());
      train("run", with(images_at("x/"), {{"data", typed}}));
    }
    const fs::path run = folder / "run";
    {
      const Elsewhere in(other.path());
      fs::remove(weights(run, "last"));
      resume(run);
      ExperimentOptions options;
      const SafetensorsFile file(weights(run, "best"));
      set_saved_options(options.table(), file);
      CHECK(saved_data(options.data, file).load(1, 1).train.size() == 12);
    }
    // Another set in the place of the first is not taken for it.
    {
      const Elsewhere in(other.path());
      make_images("photos", 5);
      fs::rename(weights(run, "last.prev"), weights(run, "last"));
      CHECK_THROWS_AS(resume(run), DataError);
      fs::remove_all("photos");
    }
    fs::remove_all(run);
  }
}

TEST_CASE("a checkpoint of an older version, which does not know its validation data, is resumed") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  train(run, kTiny);
  std::vector<NamedTensor> tensors;
  Metadata metadata;
  {
    const SafetensorsFile file(weights(run, "last.prev"));
    metadata = file.metadata();
    CHECK_FALSE(metadata.contains("learn.data_path"));  // computed data lie nowhere
    for (const auto& [name, entry] : file.tensors()) {
      tensors.push_back({name, host_tensor(entry.shape, entry.dtype)});
      file.read(entry, {tensors.back().tensor.raw(), tensors.back().tensor.bytes()});
    }
  }
  CHECK(metadata.erase("learn.valid_fingerprint") == 1);
  write_safetensors(weights(run, "last"), tensors, metadata);
  const test::LogFile log;
  resume(run);
  CHECK(log.count("warning") == 0);
  CHECK(SafetensorsFile(weights(run, "last")).metadata().at("learn.epoch") == "3");
}

TEST_CASE("an edited configuration is ignored with a warning") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  train(run, kTiny);
  const auto said = [&](const std::string& config) {
    write_file_atomically(run / "config.toml", config);
    const test::LogFile log;
    warn_of_edited_config(run);
    return log.text();
  };
  ExperimentOptions options = options_of(kTiny);
  std::string config = write_config(options.table(), "train");
  CHECK(said(config).empty());
  config.replace(config.find("batch-size = 20"), 15, "batch-size = 3 ");
  const std::string text = said(config + "classes = [\"a\"]\nnew = 1\nusual = 2  # default\n");
  CAPTURE(text);
  CHECK(text.find("was changed; the options of the checkpoint replace it") != std::string::npos);
  CHECK(text.find("batch-size: 3 in the file, 20 in the checkpoint") != std::string::npos);
  CHECK(text.find("classes: a in the file, nothing in the checkpoint") != std::string::npos);
  CHECK(text.find("new: 1 in the file, nothing in the checkpoint") != std::string::npos);
  CHECK(text.find("usual") == std::string::npos);
  CHECK(text.find("epochs") == std::string::npos);
  CHECK(said("[train]\n").empty());
  CHECK(said("[train\n").find("cannot be read: this is not TOML") != std::string::npos);
  fs::remove(run / "config.toml");
  const test::LogFile log;
  warn_of_edited_config(run);
  CHECK(log.text().empty());
}

TEST_CASE("a run of an older version without CIFAR-10 keeps the data that it used") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  train(run, kTiny);
  std::vector<NamedTensor> tensors;
  Metadata metadata;
  {
    const SafetensorsFile file(weights(run, "last"));
    metadata = file.metadata();
    for (const auto& [name, entry] : file.tensors()) {
      tensors.push_back({name, host_tensor(entry.shape, entry.dtype)});
      file.read(entry, {tensors.back().tensor.raw(), tensors.back().tensor.bytes()});
    }
  }
  std::string& config = metadata.at("learn.config");
  config.replace(config.find("\"synthetic10\""), 13, "\"auto\"");
  write_safetensors(weights(run, "last"), tensors, metadata);
  ExperimentOptions options;
  set_saved_options(options.table(), run);
  CHECK(options.data.data == "synthetic10");
}
