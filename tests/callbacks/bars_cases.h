#pragma once
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "tests/callbacks/bars_training.h"
#include "tests/support/worse.h"

#include <cmath>

namespace bars {

inline double difference(double a, double b) {
  return std::abs(a - b) / std::max(std::abs(b), 1e-3);
}

inline void check_same_training(const Trained& ranks, const Trained& alone, double tolerance) {
  REQUIRE(ranks.losses.size() == alone.losses.size());
  double worst = 0;
  for (std::size_t i = 0; i < alone.losses.size(); ++i)
    worst = learn::test::worse(worst, difference(ranks.losses[i], alone.losses[i]));
  CHECK(worst < tolerance);
  REQUIRE(ranks.results.size() == alone.results.size());
  for (std::size_t i = 0; i < alone.results.size(); ++i)
    CHECK(difference(ranks.results[i], alone.results[i]) < tolerance);
  CHECK(ranks.control.step == alone.control.step);
  CHECK(ranks.control.skipped == alone.control.skipped);
}

/// Ways to train, each with the callbacks and the tolerance of its arithmetic.
inline std::vector<Case> cases() {
  const auto accumulate = [](Learner& l) {
    l.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = 2});
  };
  // Held batches need the host. Halves have 11 bits, and bf16 has 8: a sum in another order is
  // rounded otherwise.
  constexpr double kHalf = 2e-2;
  constexpr double kBFloat = 8e-2;
  return {
      {.name = "fp32"},
      {.name = "a last batch of one sample", .samples = 37},
      {.name = "dropout", .parts = {.dropout = 0.5}},
      {.name = "class weights", .class_weights = {0.25F, 4, 1}},
      {.name = "a class without weight", .batch = 3, .class_weights = {0, 1, 0}},
      {.name = "accumulation", .capturable = false, .callbacks = accumulate},
      {.name = "accumulation with class weights",
       .capturable = false,
       .class_weights = {0.25F, 4, 1},
       .callbacks = accumulate},
      {.name = "accumulation by samples",
       .capturable = false,
       .callbacks =
           [](Learner& l) {
             l.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.samples = 30});
           }},
      {.name = "clipping", .callbacks = [](Learner& l) { l.add<callbacks::GradientClip>(0.1F); }},
      {.name = "averaged weights", .callbacks = [](Learner& l) { l.add<callbacks::Ema>(); }},
      {.name = "fp16", .callbacks = [](Learner& l) { callbacks::to_fp16(l); }, .tolerance = kHalf},
      {.name = "fp16 and accumulation",
       .capturable = false,
       .callbacks =
           [&](Learner& l) {
             callbacks::to_fp16(l);
             l.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = 3});
           },
       .tolerance = kHalf},
      {.name = "bf16",
       .callbacks = [](Learner& l) { callbacks::to_bf16(l); },
       .tolerance = kBFloat},
      {.name = "autocast",
       .callbacks = [](Learner& l) { callbacks::to_native_fp16(l); },
       .tolerance = kHalf},
      {.name = "pure fp16",
       .callbacks = [](Learner& l) { callbacks::to_pure_fp16(l); },
       .tolerance = 0.1},
      {.name = "frozen layers",
       .callbacks =
           [](Learner& l) {
             l.split({"last"});
             l.freeze();
           }},
  };
}

}  // namespace bars
