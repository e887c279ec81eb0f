// Each kind of evidence in words, without a training.
#include "callbacks/diagnose/parity_compare.h"

#include <doctest/doctest.h>

#include <utility>

using namespace learn;
using namespace learn::callbacks;

namespace {

using Words = std::pair<std::string, std::string>;

Words words_of(parity::Evidence evidence, const ParityAudit& audit = {}) {
  ParityFinding finding{
      .step = 3, .layer = "stem.conv", .module = "Conv2d(3 -> 8)", .evidence = std::move(evidence)};
  put_in_words(audit, finding);
  return {finding.text, finding.advice};
}

}  // namespace

TEST_CASE("a loss of fp32 that is not finite, or diverges, in words") {
  CHECK(words_of(parity::LossNotFinite{}) ==
        Words("in fp32, the loss of the first step is not finite, before any update; the output of "
              "'stem.conv', Conv2d(3 -> 8), is the first that is not",
              "check the data and the weights: the precision is not the cause"));
  CHECK(words_of(parity::LossDiverges{2.5, 1e30}) ==
        Words("fp32 itself diverges: its loss goes from 2.5 to 1e+30 in step 3",
              "a lower learning rate or a longer warm-up: the precision is not the cause"));
}

TEST_CASE("an overflow of outputs, with and without a module that holds it, in words") {
  const std::string text =
      "25 % of the output of 'stem.conv', Conv2d(3 -> 8), overflow: the largest f16 is 65504, and "
      "the largest value in fp32 1e+05";
  CHECK(words_of(parity::OutputOverflows{0.25, 1e5, "stem"}) ==
        Words(text,
              "bf16, which has the range of fp32; or 'stem' in fp32 (--keep-fp32 stem); or smaller "
              "weights or inputs there. A loss scale does not help"));
  CHECK(words_of(parity::OutputOverflows{0.25, 1e5, ""}).second ==
        "bf16, which has the range of fp32; or smaller weights or inputs there. A loss scale does "
        "not help");
}

TEST_CASE("an overflow of gradients, of one layer or of none, in words") {
  const parity::GradientOverflows evidence{
      .gradient = parity::Gradient{.readers = {"a", "b"}}, .loss_scale = 1024, .highest_scale = 3};
  CHECK(words_of(evidence) ==
        Words("the gradient of the output of 'stem.conv', Conv2d(3 -> 8), which 'a' and 'b' hand "
              "back, overflows at a loss scale of 1024",
              "a loss scale of 8 at most, or a dynamic one; or bf16, which has the range of fp32"));
  CHECK(words_of(
            parity::GradientOverflows{
                .gradient = {}, .skipped = 2, .due = 3, .loss_scale = 4, .highest_scale = 1},
            {.half = DType::bf16, .scale_moves = true}) ==
        Words("2 of 3 steps are skipped at a loss scale of 4, and at every scale that a dynamic "
              "one reaches",
              "fp32"));
}

TEST_CASE("outputs and gradients that are off, by rounding or by underflow, in words") {
  CHECK(
      words_of(parity::OutputOff{0.5, 0.0001, 0.015625, {}}) ==
      Words("the output of 'stem.conv', Conv2d(3 -> 8), is off by 50 % (its input by under 0.1 %; "
            "up to 1.56 % would be rounding)",
            "'stem.conv' in fp32 (--keep-fp32 stem.conv), or fp32"));
  CHECK(words_of(parity::OutputOff{0.5, 0, 0.1, 0.75}).first ==
        "the output of 'stem.conv', Conv2d(3 -> 8), is off by 50 % (its input by 0 %; up to 10 % "
        "would be rounding): 75 % of it are too small for f16");
  parity::GradientOff off{parity::Gradient{.of_weights = true}, 0.9, 0.25, 1, {}};
  CHECK(words_of(off).first ==
        "the gradient of the parameters of 'stem.conv', Conv2d(3 -> 8), is off by 90 % (cosine "
        "0.25)");
  off.underflow = {0.5, 0.25, 26, 28};
  CHECK(
      words_of(off) ==
      Words("the gradient of the parameters of 'stem.conv', Conv2d(3 -> 8), is off by 90 % "
            "(cosine 0.25): 50 % of it become zero and 25 % subnormal at a loss scale of 1",
            "a loss scale of 67108864 (--loss-scale "
            "dynamic:loss_scale=67108864,ceiling=67108864), up to 268435456 is possible; or bf16, "
            "which has the range of fp32"));
  off.underflow->highest_scale = 4;
  CHECK(words_of(off).second ==
        "bf16, which has the range of fp32. No loss scale fits both the small and the large "
        "gradients: they need 67108864, but at most 16 is possible");
}

TEST_CASE("updates that are too long or get lost, in words") {
  CHECK(words_of(parity::UpdateGrows{12.5, 0.5, "mean_square"}) ==
        Words("the update of the parameters of 'stem.conv', Conv2d(3 -> 8), is 12.5 times that of "
              "fp32: 50 % of the optimizer's 'mean_square' there are zero in f16",
              "weights and the optimizer's state in fp32 (--precision fp16 or fp16-amp), or an "
              "optimizer that does not divide by a variance: sgd"));
  CHECK(words_of(parity::UpdateGrows{{}, 0.5, "mean_square"}).first.find("is not finite: 50 %") !=
        std::string::npos);
  CHECK(words_of(parity::UpdateLost{0.25, 0.001, 0.5, 0.75}, {.half = DType::bf16}) ==
        Words("rounding leaves 25 % of the length of all updates at a rate of 0.001: 50 % of the "
              "weights that fp32 changes stay unchanged (75 % in 'stem.conv')",
              "masters in fp32 (--precision bf16), or a higher rate"));
}
