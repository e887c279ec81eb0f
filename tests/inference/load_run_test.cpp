#include "framework/inference/load_run.h"

#include "framework/core/error.h"
#include "framework/inference/load_model.h"
#include "framework/io/checkpoint.h"
#include "tests/inference/trained.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>

using namespace learn;

TEST_CASE("the best weights of a run are loaded unless others are named") {
  const TemporaryFolder run;
  test::write_trained(run.path() / "weights" / "best.safetensors", test::small_description(), 1);
  test::write_trained(run.path() / "weights" / "last.safetensors", test::small_description(), 3);
  const data::Image image{8, 12, std::vector<std::uint8_t>(8 * 12 * 3, 200)};
  const auto best = load_run(run.path())(image).probabilities;
  CHECK(best == load_run(run.path(), {}, "best")(image).probabilities);
  CHECK(best == load_run(run.path() / "weights" / "best.safetensors")(image).probabilities);
  CHECK(best != load_run(run.path(), {}, "last")(image).probabilities);
  CHECK(load_run(run.path()).classes() == test::small_description().classes);
  CHECK_THROWS_AS((void)load_run(run.path(), {}, "epoch-0001"), CheckpointError);
  CHECK_THROWS_AS((void)load_run(run.path() / "nowhere"), CheckpointError);
}

TEST_CASE("a model that is loaded does not draw its initial values before") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  const SavedModel description = test::small_description("resnet18:width=32");
  test::write_trained(file, description, 1);
  // The least CPU time of five calls.
  const auto seconds_of = [](const auto& call) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begin = std::clock();
      call();
      least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return least;
  };
  const ContextOptions one_thread{.device = Device::cpu(), .threads = 1};
  const auto seconds_with = [&](nn::InitialValues values, bool load) {
    return seconds_of([&] {
      Context ctx(one_thread);
      const nn::Model model = description.make();
      model.params->materialize(ctx, DType::f32, values);
      if (load) load_weights(file, *model.params);
    });
  };
  const double drawn = seconds_with(nn::InitialValues::drawn, true);
  const double draw =
      seconds_with(nn::InitialValues::drawn, false) - seconds_with(nn::InitialValues::none, false);
  const double loaded = seconds_of([&] { (void)load_model(file, one_thread); });
  CHECK(loaded < drawn - draw / 2);
}

TEST_CASE("weights of another model than a file claims are refused") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  Metadata metadata;
  Context ctx({.device = Device::cpu()});
  const nn::Model model = test::small_description().make();
  model.params->materialize(ctx);
  const auto claim = [&](const std::string& name) {
    describe_model(test::small_description(name), metadata);
    save_weights(file, *model.params, metadata);
  };
  claim("small:width=60000");  // terabytes, which must not be tried
  CHECK_THROWS_WITH_AS((void)load_run(file),
                       doctest::Contains("records the model 'small:width=60000', which has"),
                       CheckpointError);
  claim("small:width=2");
  CHECK_THROWS_WITH_AS(
      (void)load_run(file), doctest::Contains("different shapes"), CheckpointError);
  claim("smal");
  CHECK_THROWS_WITH_AS(
      (void)load_run(file), doctest::Contains("did you mean 'small'?"), CheckpointError);
  std::ofstream(file, std::ios::trunc) << "no weights";
  CHECK_THROWS_AS((void)load_run(file), CheckpointError);
}
