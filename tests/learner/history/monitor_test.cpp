#include "framework/learner/history/monitor.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("the direction of improvement follows from the name of a value, unless it is given") {
  const auto lower_is_better = [](const char* name, Better better = Better::automatic) {
    Monitor monitor(name, better);
    CHECK(monitor.improves(0.5));
    const bool falling = monitor.improves(0.25);
    CHECK(monitor.improves(0.75) == !falling);
    CHECK(monitor.lower_is_better() == falling);
    return falling;
  };
  for (const char* const name : {"train_loss", "valid_loss", "error_rate"})
    CHECK(lower_is_better(name));
  for (const char* const name : {"accuracy", "top_k_accuracy"}) CHECK_FALSE(lower_is_better(name));
  CHECK(lower_is_better("accuracy", Better::lower));
  CHECK_FALSE(lower_is_better("valid_loss", Better::higher));
}
