#include "framework/inference/saved_model.h"

#include "framework/core/error.h"
#include "framework/io/checkpoint.h"
#include "tests/inference/trained.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("a checkpoint describes its model") {
  const TemporaryFolder folder;
  const SavedModel written = test::small_description();
  test::write_trained(folder.path() / "a.safetensors", written);
  const SavedModel read = saved_model(SafetensorsFile(folder.path() / "a.safetensors"));
  CHECK(read.model == written.model);
  CHECK(read.classes == written.classes);
  CHECK(read.input.height == 8);
  CHECK(read.input.width == 12);
  CHECK(read.normalization.mean == written.normalization.mean);
  CHECK(read.normalization.std == written.normalization.std);
  const nn::Model model = read.make();
  CHECK(model.classes == 3);
  CHECK(model.input == Shape{8, 12, 3});
}

TEST_CASE("a checkpoint without a description of its model is refused") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  write_safetensors(file, {}, {{"learn.model", "small"}});
  CHECK_THROWS_WITH_AS(
      (void)saved_model(SafetensorsFile(file)),
      fmt::format(
          "'{}' does not record 'learn.classes': it was not written by an experiment of 'learn'",
          file.string())
          .c_str(),
      CheckpointError);
}

TEST_CASE(
    "an impossible description in a checkpoint is an error that names the file and the value") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  Metadata good;
  describe_model(test::small_description(), good);
  const auto error_of = [&](const std::string& key, const std::string& value) -> std::string {
    Metadata metadata = good;
    metadata[key] = value;
    write_safetensors(path, {}, metadata);
    try {
      (void)saved_model(SafetensorsFile(path)).make();
    } catch (const CheckpointError& e) {
      return e.what();
    }
    return "none";
  };
  const std::string begin = fmt::format("'{}' ", path.string());
  const auto model = [&](const std::string& shown, const std::string& why) {
    return fmt::format("{}records 'learn.model' as '{}': {}", begin, shown, why);
  };
  CHECK(error_of("learn.model", "small:width=4") == "none");
  // Without a file, the error is not about a file.
  CHECK_THROWS_AS((void)test::small_description("nosuch").make(), UsageError);
  CHECK(error_of("learn.model", "nosuch").starts_with(model("nosuch", "unknown model 'nosuch'")));
  CHECK(error_of("learn.model", "small:width=1000000")
            .starts_with(model("small:width=1000000", "small: width=1000000:")));
  CHECK(error_of("learn.model", {"small\0evil", 10})
            .starts_with(model("small\\x00evil", "unknown model 'small\\x00evil'")));
  CHECK(error_of("learn.model", "small\x1b[2J\nerror x")
            .starts_with(model("small\\x1b[2J\\x0aerror x", "unknown model 'small\\x1b[2J\\x0a")));
  CHECK(error_of("learn.classes", "")
            .starts_with(model("small:width=4", "model 'small' cannot have 0")));
  CHECK(error_of("learn.input", {"8 12 3\0 4", 9}) ==
        begin +
            "records 'learn.input' as '8 12 3\\x00 4', which is not the shape of an image or of "
            "features: expected height, width and channels, or one number");
  CHECK(error_of("learn.normalization", "0 0 0 1 1 \t\x1b") ==
        begin +
            "records 'learn.normalization' as '0 0 0 1 1 \\x09\\x1b', which is not a "
            "normalization: expected a mean and a standard deviation for each channel");
  CHECK(error_of("learn.normalization", "0 0 0 1 1 1 and more").starts_with(begin));
}

TEST_CASE("a checkpoint's description of its images is read, or refused with its value") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  Metadata metadata;
  describe_model(test::small_description(), metadata);
  const auto read_with = [&](const std::string& key, const std::string& value) {
    Metadata changed = metadata;
    changed[key] = value;
    write_safetensors(path, {}, changed);
    return saved_model(SafetensorsFile(path));
  };
  CHECK(read_with("learn.input", "24 40 3").input.width == 40);
  SavedModel grey = test::small_description();
  grey.channels = 1;
  grey.normalization = {{0.5F}, {2}};
  Metadata of_grey;
  describe_model(grey, of_grey);
  CHECK(of_grey.at("learn.input") == "8 12 1");
  CHECK(of_grey.at("learn.normalization") == "0.5 2");
  write_safetensors(path, {}, of_grey);
  CHECK(saved_model(SafetensorsFile(path)).make().input == Shape{8, 12, 1});
  SavedModel of_features = grey;
  of_features.input = {};
  of_features.channels = 7;
  of_features.normalization = {};
  describe_model(of_features, of_grey);
  CHECK(of_grey.at("learn.input") == "7");
  write_safetensors(path, {}, of_grey);
  CHECK(saved_model(SafetensorsFile(path)).input_shape() == Shape{7});
  for (const char* const bad :
       {"", "0", "24 40", "24 40 1025", "0 40 3", "24 65537 3", "a b c", "24 40 3 3", "24 40 3.5"})
    CHECK_THROWS_WITH_AS(
        (void)read_with("learn.input", bad),
        fmt::format("'{}' records 'learn.input' as '{}', which is not the shape of an image or of "
                    "features: expected height, width and channels, or one number",
                    path.string(),
                    bad)
            .c_str(),
        CheckpointError);
  CHECK(read_with("learn.targets", "labels").target_kind == data::TargetKind::labels);
  const SavedModel measures = read_with("learn.targets", "values");
  CHECK(measures.target_kind == data::TargetKind::values);
  Metadata again;
  describe_model(measures, again);
  CHECK(again.at("learn.targets") == "values");
  CHECK(!metadata.contains("learn.targets"));
  measures.require(TargetKind::values, "this");
  CHECK_THROWS_WITH_AS(
      measures.require(TargetKind::classes, "--top 3"),
      "--top 3 is for models with classes as targets; those of 'small:width=4' are real numbers",
      UsageError);
  CHECK_THROWS_WITH_AS((void)read_with("learn.targets", "words"),
                       doctest::Contains("'words', which is neither labels nor values"),
                       CheckpointError);
  CHECK(read_with("learn.normalization", "0.5 0.4 0.3 0.2 0.1 1\n").normalization.std[2] == 1);
  for (const char* const bad :
       {"", "0.5 0.4 0.3 0.2 0.1", "0.5 0.4 0.3 0.2 0.1 x", "0.5 0.4 0.3 0.2 0.1 1 2"})
    CHECK_THROWS_WITH_AS(
        (void)read_with("learn.normalization", bad),
        fmt::format("'{}' records 'learn.normalization' as '{}', which is not a normalization: "
                    "expected a mean and a standard deviation for each channel",
                    path.string(),
                    bad)
            .c_str(),
        CheckpointError);
  CHECK_THROWS_WITH_AS(
      (void)read_with("learn.normalization", "0.5 0.4 0.3 0.2 0.1 0"),
      doctest::Contains(
          "'0.5 0.4 0.3 0.2 0.1 0', which has a standard deviation that is not positive"),
      CheckpointError);
}
