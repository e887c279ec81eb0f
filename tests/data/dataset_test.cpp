#include "data/dataset.h"

#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

using namespace learn;
using namespace learn::data;

TEST_CASE("dataset: the fingerprint changes with every part of the content") {
  const Dataset set = test::small_set(6, 4, 4);
  const std::string print = set.fingerprint();
  CHECK(print.size() == 64);
  CHECK(set.fingerprint() == print);
  Dataset renamed = set;
  renamed.name = "elsewhere";
  CHECK(renamed.fingerprint() == print);
  Dataset pixel = set;
  pixel.pixels[5] ^= 1U;
  CHECK(pixel.fingerprint() != print);
  Dataset label = set;
  label.labels[0] = 1;
  CHECK(label.fingerprint() != print);
  Dataset names = set;
  names.classes[0] = "other";
  CHECK(names.fingerprint() != print);
  Dataset turned = set;
  turned.height = 2;
  turned.width = 8;
  CHECK(turned.fingerprint() != print);
}

TEST_CASE("dataset: validate finds inconsistencies") {
  CHECK_NOTHROW(test::small_set(2, 3, 3).validate());
  Dataset set = test::small_set(2, 3, 3);
  for (const std::int64_t label : {2, -1}) {
    set.labels[1] = label;
    CHECK_THROWS_AS(set.validate(), DataError);
  }
  set = test::small_set(2, 3, 3);
  set.pixels.pop_back();
  CHECK_THROWS_AS(set.validate(), DataError);
  CHECK_THROWS_AS(Dataset{}.validate(), DataError);
  set = test::small_set(2, 3, 3);
  set.name = "flat";
  set.height = 0;
  CHECK_THROWS_WITH_AS(set.validate(), "data set 'flat': image size 0x3x3", DataError);
}

TEST_CASE("dataset: a subset contains only existing images") {
  Dataset set = test::small_set(2, 3, 3);
  set.name = "two";
  for (const std::int64_t bad : {-1, 2})
    CHECK_THROWS_WITH_AS(static_cast<void>(subset(set, std::array{std::int64_t{0}, bad})),
                         fmt::format("subset: image {} of 2 ('two')", bad).c_str(),
                         UsageError);
}

TEST_CASE("dataset: class names are not empty and unique") {
  CHECK_NOTHROW(check_class_names({"a", "b"}, "here"));
  CHECK_THROWS_WITH_AS(
      check_class_names({"a", ""}, "here"), "'here': a class has no name", DataError);
  CHECK_THROWS_WITH_AS(
      check_class_names({"a", "b", "a"}, "here"), "'here': two classes are named 'a'", DataError);
}

TEST_CASE("dataset: limited keeps every class of a set that is sorted by class") {
  Dataset set = test::small_set(500, 2, 2, 10);
  std::ranges::sort(set.labels);
  // Some 10 of each are drawn of 50; the draw is the same each time.
  for (const std::int64_t count : class_counts(limited(set, 100))) CHECK(count > 2);
}

TEST_CASE("dataset: limited takes the same images each time, in their order") {
  const Dataset set = test::small_set(50, 2, 2, 5);
  const Dataset quick = limited(set, 20);
  REQUIRE(quick.size() == 20);
  CHECK(quick.fingerprint() == limited(set, 20).fingerprint());
  CHECK(limited(set, 0).fingerprint() == set.fingerprint());
  CHECK(limited(set, 51).fingerprint() == set.fingerprint());
  CHECK_THROWS_AS(static_cast<void>(limited(set, -1)), UsageError);
  std::int64_t from = -1;  // each image is after the previous one
  for (std::int64_t i = 0; i < quick.size(); ++i) {
    do {
      ++from;
      REQUIRE(from < set.size());
    } while (!std::ranges::equal(set.image(from), quick.image(i)));
  }
}

TEST_CASE("dataset: only_classes relabels by the order of the names") {
  const Dataset set = test::small_set(9, 2, 2, 3);  // labels 0 1 2 0 1 2 ...
  const Dataset two = only_classes(set, {"class 2", "class 0"});
  CHECK(two.labels == std::vector<std::int64_t>{1, 0, 1, 0, 1, 0});
  CHECK(std::ranges::equal(two.image(1), set.image(2)));
  CHECK(two.classes == std::vector<std::string>{"class 2", "class 0"});
  CHECK_THROWS_AS(static_cast<void>(only_classes(set, {"class 3"})), UsageError);
  CHECK_THROWS_AS(static_cast<void>(only_classes(set, {"class 0", "class 0"})), UsageError);
}

TEST_CASE("dataset: split_off is stratified, disjoint, complete and a function of the seed") {
  const Dataset set = test::small_set(100, 4, 4, 4);
  const DataPair pair = split_off(set, 0.2, 7);
  CHECK(class_counts(pair.train) == std::vector<std::int64_t>(4, 20));
  CHECK(class_counts(pair.valid) == std::vector<std::int64_t>(4, 5));
  std::set<std::vector<std::uint8_t>> all;
  for (const Dataset* part : {&pair.train, &pair.valid})
    for (std::int64_t i = 0; i < part->size(); ++i) {
      const auto image = part->image(i);
      CHECK(all.insert({image.begin(), image.end()}).second);
    }
  CHECK(all.size() == 100);
  CHECK(split_off(set, 0.2, 7).valid.fingerprint() == pair.valid.fingerprint());
  CHECK(split_off(set, 0.2, 8).valid.fingerprint() != pair.valid.fingerprint());
  for (const double bad : {0.0, 1.0, -0.5, 2.0})
    CHECK_THROWS_AS(static_cast<void>(split_off(set, bad, 7)), UsageError);
  CHECK_THROWS_AS(static_cast<void>(split_off(test::small_set(2, 2, 2), 0.2, 7)), DataError);
  CHECK_THROWS_WITH_AS(static_cast<void>(split_off(test::small_set(2, 2, 2), 0.9, 7)),
                       doctest::Contains("leaves 0 for training and 2 for validation"),
                       DataError);
  CHECK_THROWS_AS(static_cast<void>(split_off(set, NAN, 7)), UsageError);
}

namespace {

/// Ten images with two numbers each: {i, -i}, or whether i is even and whether it is below 3.
Dataset with_targets(TargetKind kind) {
  Dataset set = test::small_set(10, 2, 2);
  set.name = "targets";
  set.classes = {"one", "two"};
  set.target_kind = kind;
  set.labels.clear();
  for (int i = 0; i < 10; ++i)
    if (kind == TargetKind::labels)
      set.targets.insert(set.targets.end(), {i % 2 == 0 ? 1.0F : 0.0F, i < 3 ? 1.0F : 0.0F});
    else
      set.targets.insert(set.targets.end(), {static_cast<float>(i), -static_cast<float>(i)});
  return set;
}

}  // namespace

TEST_CASE("dataset: labels and values go with their images") {
  for (const TargetKind kind : {TargetKind::labels, TargetKind::values}) {
    const Dataset set = with_targets(kind);
    CHECK_NOTHROW(set.validate());
    CHECK(set.size() == 10);
    const Dataset some = subset(set, std::array<std::int64_t, 2>{7, 2});
    CHECK(some.size() == 2);
    CHECK(std::ranges::equal(some.targets_of(0), set.targets_of(7)));
    CHECK(std::ranges::equal(some.targets_of(1), set.targets_of(2)));
    CHECK(some.target_kind == kind);
    CHECK(limited(set, 4).targets.size() == 8);
    // Without classes it is a share of all.
    const DataPair pair = split_off(set, 0.3, 1);
    CHECK(pair.valid.size() == 3);
    CHECK(pair.train.size() == 7);
    Dataset other = set;
    other.targets[3] = 1 - other.targets[3];
    CHECK(other.fingerprint() != set.fingerprint());
    other = set;
    other.target_kind = kind == TargetKind::labels ? TargetKind::values : TargetKind::labels;
    CHECK(other.fingerprint() != set.fingerprint());
    CHECK_THROWS_WITH_AS(static_cast<void>(only_classes(set, {"one"})),
                         doctest::Contains("data set 'targets' has no classes to select"),
                         UsageError);
  }
  CHECK(class_counts(with_targets(TargetKind::labels)) == std::vector<std::int64_t>{5, 3});
  CHECK_THROWS_WITH_AS(static_cast<void>(class_counts(with_targets(TargetKind::values))),
                       doctest::Contains("no classes to count"),
                       UsageError);
}

TEST_CASE("dataset: validate finds invalid targets") {
  const auto refused = [](TargetKind kind, auto change, const char* text) {
    Dataset set = with_targets(kind);
    change(set);
    CHECK_THROWS_WITH_AS(set.validate(), doctest::Contains(text), DataError);
  };
  refused(
      TargetKind::labels,
      [](Dataset& s) { s.targets[5] = 0.5F; },
      "'two' of sample 2 is 0.5, a label must be 0 or 1");
  refused(
      TargetKind::values,
      [](Dataset& s) { s.targets[4] = std::numeric_limits<float>::infinity(); },
      "'one' of sample 2 is inf, it must be finite");
  refused(
      TargetKind::values,
      [](Dataset& s) { s.targets.push_back(0); },
      "data set 'targets': 21 targets are not a multiple of 2 names");
  refused(
      TargetKind::values, [](Dataset& s) { s.labels = {0}; }, "has 1 classes as well as targets");
  Dataset set = test::small_set(2, 3, 3);
  set.targets = {1, 2};
  CHECK_THROWS_WITH_AS(
      set.validate(), doctest::Contains("has 2 targets as well as classes"), DataError);
}
