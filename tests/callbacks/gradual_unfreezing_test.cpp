#include "callbacks/freezing/gradual_unfreezing.h"

#include "callbacks/lambda.h"
#include "framework/learner/learner.h"
#include "tests/callbacks/net_training.h"
#include "tests/callbacks/resumed.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace learn;
using callbacks::GradualUnfreezing;
using callbacks::GradualUnfreezingOptions;
using callbacks::on;

namespace {

using Numbers = std::vector<double>;

constexpr GradualUnfreezingOptions kOneByOne{.frozen = 1, .every = 1, .train_bn = false};

/// Three layer groups: first, norm, last.
struct Groups : tiny::NetTraining {
  explicit Groups(const GradualUnfreezingOptions& options) : Groups() {
    learn.add<GradualUnfreezing>(options);
  }
  Groups() { learn.split({"norm", "last"}); }
  Numbers masters() { return tiny::values(learn.params().flat_master()); }
};

/// The modules that each epoch has changed, by their first letters.
std::vector<std::string> trained_by_epoch(Groups& t, std::int64_t epochs) {
  std::vector<std::string> all;
  std::map<std::string, Numbers> before;
  const auto changed = [&] {
    std::string letters;
    const nn::ParamStore& params = t.learn.params();
    for (std::int64_t i = 0; i < params.size(); ++i) {
      const std::string& name = params.info(i).name;
      const Numbers now = tiny::values(params.master(i));
      if (before[name] != now && !letters.ends_with(name[0])) letters += name[0];
      before[name] = now;
    }
    return letters;
  };
  (void)changed();
  on(t.learn, Event::epoch_end, [&](Learner&) { all.push_back(changed()); });
  t.learn.fit(epochs, 0.05);
  return all;
}

}  // namespace

TEST_CASE("gradual unfreezing: the first trained group of each epoch") {
  const auto groups = [](const GradualUnfreezingOptions& options) {
    std::vector<int> first;
    for (int epoch = 0; epoch < 6; ++epoch)
      first.push_back(GradualUnfreezing(options).first_trained(epoch, 4));
    return first;
  };
  CHECK(groups({}) == std::vector{3, 0, 0, 0, 0, 0});
  CHECK(groups({.frozen = 3}) == std::vector{3, 3, 3, 0, 0, 0});
  CHECK(groups({.frozen = 0}) == std::vector{0, 0, 0, 0, 0, 0});
  CHECK(groups({.frozen = 1, .every = 1}) == std::vector{3, 2, 1, 0, 0, 0});
  CHECK(groups({.frozen = 2, .every = 2}) == std::vector{3, 3, 2, 2, 1, 1});
}

TEST_CASE("gradual unfreezing: frozen groups keep their bits") {
  Groups one_by_one(kOneByOne);
  CHECK(trained_by_epoch(one_by_one, 4) == std::vector<std::string>{"l", "nl", "fnl", "fnl"});
  Groups all_at_once({.train_bn = false});
  CHECK(trained_by_epoch(all_at_once, 2) == std::vector<std::string>{"l", "fnl"});
  Groups with_norm(GradualUnfreezingOptions{});
  CHECK(trained_by_epoch(with_norm, 2) == std::vector<std::string>{"nl", "fnl"});
}

TEST_CASE("gradual unfreezing trains as a frozen and another fit do") {
  Groups together(GradualUnfreezingOptions{});
  together.learn.fit(3, 0.05);
  Groups apart;
  apart.learn.freeze();
  apart.learn.fit(1, 0.05);
  apart.learn.unfreeze();
  apart.learn.fit(2, 0.05);
  CHECK(together.masters() == apart.masters());
}

TEST_CASE("gradual unfreezing: a fit that is resumed has the same groups") {
  Groups straight(kOneByOne);
  straight.learn.fit(4, 0.05);
  for (const int batches : {1, 3, 4, 8}) {  // of three in an epoch
    CAPTURE(batches);
    Groups saved(kOneByOne);
    test::MemoryState state;
    test::save_after(saved.learn, batches, state);
    saved.learn.fit(4, 0.05);
    Groups resumed(kOneByOne);
    test::resume_from(resumed.learn, state);
    resumed.learn.fit(4, 0.05);
    CHECK(resumed.masters() == straight.masters());
  }
}

TEST_CASE("gradual unfreezing refuses what it cannot do") {
  tiny::NetTraining whole;
  whole.learn.add<GradualUnfreezing>();
  CHECK_THROWS_WITH_AS(
      whole.learn.fit(1, 0.05), doctest::Contains("the model has one layer group"), UsageError);
  Groups frozen;
  frozen.learn.freeze(false);
  CHECK_THROWS_WITH_AS(frozen.learn.add<GradualUnfreezing>(),
                       doctest::Contains("the parameter 'first.weight' is frozen"),
                       UsageError);
  CHECK_THROWS_WITH_AS(
      GradualUnfreezing({.frozen = -1}), doctest::Contains("frozen is -1, every 0"), UsageError);
  CHECK_THROWS_WITH_AS(GradualUnfreezing({.every = -1}), doctest::Contains("every -1"), UsageError);
}
