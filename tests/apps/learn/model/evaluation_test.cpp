#include "apps/learn/model/evaluation.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("features have no mirror image to be measured with") {
  data::Dataset set;
  set.name = "numbers";
  set.channels = 2;
  set.classes = {"a", "b"};
  set.features = {1, 2, 3, 4};
  set.labels = {0, 1};
  set.validate();
  Context ctx({.device = Device::cpu(), .threads = 1});
  const SavedModel model{.model = "mlp", .classes = {"a", "b"}, .channels = 2};
  CHECK_THROWS_WITH_AS((void)cli::evaluate(ctx, "nowhere", model, set, {.views = nn::TestViews{}}),
                       "--tta is for images: the samples of 'numbers' have no mirror image",
                       UsageError);
}
