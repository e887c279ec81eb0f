#include "framework/inference/saved_model.h"

#include "framework/core/error.h"
#include "framework/io/checkpoint.h"
#include "tests/inference/trained.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("a checkpoint says what its model is") {
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

TEST_CASE("a checkpoint that says nothing of its model is refused") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  write_safetensors(file, {}, {{"learn.model", "small"}});
  CHECK_THROWS_WITH_AS((void)saved_model(SafetensorsFile(file)),
                       fmt::format("'{}' does not say its 'learn.classes': it was not written for "
                                   "an experiment of 'learn'",
                                   file.string())
                           .c_str(),
                       CheckpointError);
}

TEST_CASE("what a checkpoint says of its images is read, or refused with what it says") {
  CHECK(image_size_from("24 40 3").width == 40);
  for (const char* const bad : {"", "24", "24 40 1", "0 40 3", "24 65537 3", "a b c"})
    CHECK_THROWS_WITH_AS(
        (void)image_size_from(bad),
        fmt::format("'{}' is no shape of an image: expected height, width and 3", bad).c_str(),
        CheckpointError);
  CHECK(normalization_from("0.5 0.4 0.3 0.2 0.1 1").std[2] == 1);
  for (const char* const bad : {"", "0.5 0.4 0.3 0.2 0.1", "0.5 0.4 0.3 0.2 0.1 x"})
    CHECK_THROWS_WITH_AS(
        (void)normalization_from(bad),
        fmt::format("'{}' is not a normalization: expected six numbers", bad).c_str(),
        CheckpointError);
  CHECK_THROWS_WITH_AS((void)normalization_from("0.5 0.4 0.3 0.2 0.1 0"),
                       "'0.5 0.4 0.3 0.2 0.1 0' is not a normalization: a standard deviation must "
                       "be above 0 and finite",
                       CheckpointError);
}
