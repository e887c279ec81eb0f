#include "apps/learn/runs/run_comparison.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;

TEST_CASE("best results are marked only among runs validated on the same images") {
  const auto run = [](const char* name, const char* data, std::int64_t valid, double accuracy) {
    RunEntry entry;
    entry.name = name;
    entry.path = name;
    entry.status = "finished";
    entry.record.dataset = data;
    entry.record.valid_samples = valid;
    entry.record.best = RunRecord::Best{"accuracy", accuracy, 1};
    entry.record.results = {{"accuracy", accuracy}, {"valid_loss", 1 - accuracy}};
    return entry;
  };
  const auto compared = [&](const RunEntry& other) {
    return cli::compare_runs({run("one", "photos", 10, 0.5), other}, 0);
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string same = compared(run("two", "photos", 10, 0.75));
  CAPTURE(same);
  CHECK(says(same, "results of the last epoch, * is the best:"));
  CHECK(says(same, "0.7500 *"));
  CHECK(says(same, "0.2500 *"));
  CHECK_FALSE(says(same, "not comparable"));
  for (const RunEntry& other : {run("two", "shapes", 10, 0.75), run("two", "photos", 11, 0.75)}) {
    const std::string text = compared(other);
    CAPTURE(text);
    CHECK_FALSE(says(text, "*"));
    CHECK(says(text, "results of the last epoch, on different validation images:"));
    CHECK(says(text, "They were validated on different images: their results are not comparable."));
  }
  // Unknown values of a damaged run are not differences.
  RunEntry damaged = run("two", "", 0, 0.75);
  damaged.problem = "this is not JSON";
  CHECK(says(compared(damaged), "* is the best"));
}
