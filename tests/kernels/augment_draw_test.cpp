#include "framework/kernels/augment/draw_change.h"
#include "framework/kernels/augment/erased_hole.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

using namespace learn;
using namespace learn::image;

namespace {

using Kind = Change::Kind;
using StepKind = AugmentPlan::Step::Kind;

constexpr int kDraws = 100'000;

AugmentDraw draw_of(int sample) { return {42, 3, static_cast<std::uint64_t>(sample)}; }

AugmentPlan::Step step_of(StepKind kind) {
  AugmentPlan::Step step;
  step.kind = kind;
  step.number = 2;
  return step;
}

/// Kolmogorov and Smirnov's statistic, which exceeds 2.2 once in 8,000 times. The seed is fixed.
double ks(std::vector<double> values, const std::function<double(double)>& cumulative) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = cumulative(values[i]);
    most = std::max({most,
                     std::abs(share - static_cast<double>(i) / n),
                     std::abs(share - static_cast<double>(i + 1) / n)});
  }
  return most * std::sqrt(n);
}
constexpr double kKsLimit = 2.2;

std::function<double(double)> uniform(double low, double high) {
  return [=](double v) { return std::clamp((v - low) / (high - low), 0.0, 1.0); };
}

/// Checks that each key occurs with its probability, within five standard deviations.
template <class Key>
void check_shares(const std::map<Key, int>& counts, const std::map<Key, double>& shares) {
  int total = 0;
  for (const auto& [key, count] : counts) {
    CHECK(shares.contains(key));
    total += count;
  }
  for (const auto& [key, share] : shares) {
    CAPTURE(share);
    const auto found = counts.find(key);
    const int count = found == counts.end() ? 0 : found->second;
    CHECK(std::abs(count - total * share) <= 5 * std::sqrt(total * share * (1 - share)) + 1e-9);
  }
}

}  // namespace

TEST_CASE("a resized crop has uniform areas and logarithms of ratios and places") {
  AugmentPlan::Step step = step_of(StepKind::resized_crop);
  step.range[0] = {0.1F, 0.4F};
  step.range[1] = {std::log(0.5F), std::log(2.0F)};
  constexpr int kSide = 1000;  // every draw fits
  std::vector<double> areas, ratios, tops, lefts;
  for (int i = 0; i < kDraws; ++i) {
    const Window w = draw_window(step, draw_of(i), kSide, kSide);
    areas.push_back(static_cast<double>(w.height) * w.width / kSide / kSide);
    ratios.push_back(std::log(static_cast<double>(w.width) / w.height));
    tops.push_back((w.top + 0.5) / (kSide - w.height + 1));
    lefts.push_back((w.left + 0.5) / (kSide - w.width + 1));
    CHECK((w.top >= 0 && w.left >= 0 && w.top + w.height <= kSide && w.left + w.width <= kSide));
  }
  // Sides are whole pixels of some 500, so areas are up to 0.2 % off.
  CHECK(ks(areas, uniform(0.1, 0.4)) < kKsLimit);
  CHECK(ks(ratios, uniform(std::log(0.5), std::log(2.0))) < kKsLimit);
  CHECK(ks(tops, uniform(0, 1)) < kKsLimit);
  CHECK(ks(lefts, uniform(0, 1)) < kKsLimit);
}

TEST_CASE("a resized crop that never fits is the largest centred part with allowed proportions") {
  AugmentPlan::Step step = step_of(StepKind::resized_crop);
  step.range[0] = {1, 1};
  step.range[1] = {std::log(0.75F), std::log(4.0F / 3.0F)};
  const Window wide = draw_window(step, draw_of(1), 30, 100);
  CHECK(wide.height == 30);
  CHECK(wide.width == 40);
  CHECK(wide.left == 30);
  const Window high = draw_window(step, draw_of(1), 100, 30);
  CHECK(high.height == 40);
  CHECK(high.width == 30);
  CHECK(high.top == 30);
  const Window tiny = draw_window(step, draw_of(1), 1, 7);
  CHECK(tiny.height == 1);
  CHECK(tiny.width == 1);
}

TEST_CASE("the colours change by uniform factors in any order equally often") {
  AugmentPlan::Step step = step_of(StepKind::jitter);
  step.range[0] = {0.6F, 1.4F};
  step.range[1] = {0.5F, 1.5F};
  step.range[2] = {0, 2};
  step.range[3] = {-0.1F, 0.1F};
  std::map<std::array<Kind, 4>, int> orders;
  std::map<Kind, std::vector<double>> factors;
  for (int i = 0; i < kDraws; ++i) {
    std::array<Kind, 4> order{};
    for (int k = 0; k < 4; ++k) {
      const Change change = draw_change(step, draw_of(i), k, 8, 8);
      order.at(static_cast<std::size_t>(k)) = change.kind;
      factors[change.kind].push_back(change.factor);
    }
    ++orders[order];
  }
  std::array<Kind, 4> order{Kind::brightness, Kind::contrast, Kind::saturation, Kind::hue};
  std::map<std::array<Kind, 4>, double> equal;
  do equal[order] = 1.0 / 24;
  while (std::ranges::next_permutation(order).found);
  check_shares(orders, equal);
  CHECK(ks(factors[Kind::brightness], uniform(0.6, 1.4)) < kKsLimit);
  CHECK(ks(factors[Kind::contrast], uniform(0.5, 1.5)) < kKsLimit);
  CHECK(ks(factors[Kind::saturation], uniform(0, 2)) < kKsLimit);
  CHECK(ks(factors[Kind::hue], uniform(-0.1, 0.1)) < kKsLimit);
  step.range[2] = {1, 1};  // takes part in the order, but does nothing
  int nothing = 0;
  for (int k = 0; k < 4; ++k)
    nothing += draw_change(step, draw_of(1), k, 8, 8).kind == Kind::none ? 1 : 0;
  CHECK(nothing == 1);
}

TEST_CASE("policies draw their operations and signs and strengths equally often") {
  const std::map<Kind, double> of_14{{Kind::none, 1.0 / 14},
                                     {Kind::affine, 5.0 / 14},
                                     {Kind::brightness, 1.0 / 14},
                                     {Kind::saturation, 1.0 / 14},
                                     {Kind::contrast, 1.0 / 14},
                                     {Kind::sharpness, 1.0 / 14},
                                     {Kind::posterize, 1.0 / 14},
                                     {Kind::solarize, 1.0 / 14},
                                     {Kind::autocontrast, 1.0 / 14},
                                     {Kind::equalize, 1.0 / 14}};
  AugmentPlan::Step random = step_of(StepKind::randaugment);
  random.count = 2;
  random.level = 9;
  CHECK(changes_of(random) == 2);
  const AugmentPlan::Step trivial = step_of(StepKind::trivial);
  std::map<Kind, int> first, second, one;
  std::map<bool, int> brighter;
  std::map<int, int> bits, both;
  for (int i = 0; i < kDraws; ++i) {
    const Change a = draw_change(random, draw_of(i), 0, 32, 32);
    const Change b = draw_change(random, draw_of(i), 1, 32, 32);
    const Change c = draw_change(trivial, draw_of(i), 0, 32, 32);
    ++first[a.kind];
    ++second[b.kind];
    ++one[c.kind];
    if (a.kind == Kind::brightness) {
      ++brighter[a.factor > 1];
      CHECK(std::abs(std::abs(a.factor - 1) - 0.27F) < 1e-6F);  // 9 of 30 times 0.9
    }
    if (a.kind == Kind::solarize) CHECK(a.count == 179);  // 178.5
    if (c.kind == Kind::posterize) ++bits[c.count];
    ++both[a.kind == Kind::affine && b.kind == Kind::affine ? 1 : 0];
  }
  check_shares(first, of_14);
  check_shares(second, of_14);
  check_shares(one, of_14);
  check_shares(brighter, std::map<bool, double>{{false, 0.5}, {true, 0.5}});
  check_shares(both, std::map<int, double>{{0, 1 - 25.0 / 196}, {1, 25.0 / 196}});
  const double bin = 1.0 / 31;
  check_shares(bits,
               std::map<int, double>{{8, 3 * bin},
                                     {7, 5 * bin},
                                     {6, 5 * bin},
                                     {5, 5 * bin},
                                     {4, 5 * bin},
                                     {3, 5 * bin},
                                     {2, 3 * bin}});
}

TEST_CASE("augmix draws weights from Dirichlet distributions and chains of one to three links") {
  AugmentPlan::Step step = step_of(StepKind::augmix);
  step.count = 3;
  step.level = 3;
  std::vector<double> originals, chains;
  std::map<int, int> depths;
  std::map<Kind, int> links;
  for (int i = 0; i < kDraws; ++i) {
    const float own = draw_own_weight(step, draw_of(i));
    float sum = own;
    for (int chain = 0; chain < 3; ++chain) sum += draw_chain_weight(step, draw_of(i), chain);
    CHECK(std::abs(sum - 1) < 1e-6F);
    originals.push_back(own);
    chains.push_back(draw_chain_weight(step, draw_of(i), 1) / (1 - own));
    ++depths[draw_depth(step, draw_of(i), 2)];
    ++links[draw_link(step, draw_of(i), 1, 2, 32, 32).kind];
  }
  CHECK(ks(originals, uniform(0, 1)) < kKsLimit);
  // One of three weights: Beta(1, 2).
  CHECK(ks(chains, [](double v) { return 1 - (1 - v) * (1 - v); }) < kKsLimit);
  check_shares(depths, std::map<int, double>{{1, 1.0 / 3}, {2, 1.0 / 3}, {3, 1.0 / 3}});
  check_shares(links,
               std::map<Kind, double>{{Kind::affine, 5.0 / 9},
                                      {Kind::posterize, 1.0 / 9},
                                      {Kind::solarize, 1.0 / 9},
                                      {Kind::autocontrast, 1.0 / 9},
                                      {Kind::equalize, 1.0 / 9}});
  step.all = true;
  links.clear();
  for (int i = 0; i < kDraws; ++i) ++links[draw_link(step, draw_of(i), 0, 0, 32, 32).kind];
  CHECK(links.size() == 9);
  CHECK(std::abs(links[Kind::saturation] - kDraws / 13) < 5 * 85);
}

TEST_CASE("an affine draw is uniform in its ranges and shifts by whole pixels") {
  AugmentPlan::Step step = step_of(StepKind::affine);
  step.range[1] = {-0.1F, 0.1F};
  step.range[2] = {1, 1};
  std::map<std::int64_t, int> shifts;
  for (int i = 0; i < kDraws; ++i)
    ++shifts[draw_change(step, draw_of(i), 0, 20, 40).map.x0 / 65536];
  std::map<std::int64_t, double> shares{{-4, 1.0 / 16}, {4, 1.0 / 16}};
  for (std::int64_t s = -3; s <= 3; ++s) shares[s] = 1.0 / 8;
  check_shares(shifts, shares);
  step.range[1] = {};
  step.range[0] = {-30, 30};
  std::vector<double> degrees;
  for (int i = 0; i < kDraws; ++i) {
    const AffineMap map = draw_change(step, draw_of(i), 0, 20, 40).map;
    degrees.push_back(std::asin(static_cast<double>(map.xy) / 65536) * 57.29577951308232);
  }
  CHECK(ks(degrees, uniform(-30, 30)) < kKsLimit);
}

TEST_CASE("a step happens with its probability") {
  AugmentPlan::Step step = step_of(StepKind::single);
  step.change = Kind::invert;
  step.probability = 0.2F;
  std::map<Kind, int> kinds;
  for (int i = 0; i < kDraws; ++i) ++kinds[draw_change(step, draw_of(i), 0, 8, 8).kind];
  check_shares(kinds, std::map<Kind, double>{{Kind::none, 0.8}, {Kind::invert, 0.2}});
}

TEST_CASE("an alternating flip shows both forms in two successive epochs") {
  int flipped = 0;
  for (int i = 0; i < kDraws; ++i) {
    AugmentDraw draw = draw_of(i);
    draw.epoch = 0;
    const bool first = is_flipped(0.5F, true, 1, draw);
    flipped += first ? 1 : 0;
    for (const std::uint64_t epoch : {1U, 2U, 3U, 17U}) {
      draw.epoch = epoch;
      CHECK(is_flipped(0.5F, true, 1, draw) == (first != (epoch % 2 == 1)));
    }
  }
  CHECK(std::abs(flipped - kDraws / 2) < 5 * 158);
}

TEST_CASE("an erased rectangle has a uniform area and lies inside of the image") {
  AugmentPlan::Hole hole;
  hole.number = 1;
  hole.probability = 0.25F;
  hole.area = {0.02F, 0.33F};
  hole.log_ratio = {std::log(0.9F), std::log(1.0F / 0.9F)};  // every draw fits
  constexpr int kSide = 1000;
  std::vector<double> areas, tops;
  for (int i = 0; i < kDraws; ++i) {
    const Hole drawn = draw_hole(hole, draw_of(i), kSide, kSide);
    if (drawn.height == 0) continue;
    areas.push_back(static_cast<double>(drawn.height) * drawn.width / kSide / kSide);
    tops.push_back((drawn.top + 0.5) / (kSide - drawn.height + 1));
    CHECK((drawn.top >= 0 && drawn.left >= 0 && drawn.top + drawn.height <= kSide &&
           drawn.left + drawn.width <= kSide));
  }
  CHECK(std::abs(static_cast<double>(areas.size()) - kDraws * 0.25) < 5 * 137);
  CHECK(ks(areas, uniform(0.02, 0.33)) < kKsLimit);
  CHECK(ks(tops, uniform(0, 1)) < kKsLimit);
  hole.probability = 1;
  hole.area = {1, 1};
  CHECK(draw_hole(hole, draw_of(1), 8, 8).height == 0);  // never smaller than the image
}

TEST_CASE("the noise of an erased rectangle is normal and its values are independent") {
  AugmentPlan::Hole hole;
  hole.number = 1;
  std::vector<double> values, products;
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(noise_of(hole, draw_of(7), i));
    if (i > 0) products.push_back(values.back() * values[values.size() - 2]);
  }
  CHECK(ks(values, [](double v) { return 0.5 * std::erfc(-v * std::sqrt(0.5)); }) < kKsLimit);
  double sum = 0;
  for (const double product : products) sum += product;
  CHECK(std::abs(sum) < 5 * std::sqrt(kDraws));  // products of independent values: deviation 1
  std::ranges::sort(values);
  int equal = 0;
  for (std::size_t i = 1; i < values.size(); ++i) equal += values[i] == values[i - 1] ? 1 : 0;
  CHECK(equal < 200);  // in f32 some 85 of 100,000 are equal by chance
}
