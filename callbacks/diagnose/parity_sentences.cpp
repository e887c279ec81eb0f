// The findings of a parity audit in words.
#include "callbacks/diagnose/parity_compare.h"
#include "framework/core/nan_sign.h"
#include "framework/nn/range_scan.h"

#include <fmt/core.h>

#include <cmath>
#include <string_view>

namespace learn::callbacks {
namespace {

std::string percent(double share) {
  return share > 0 && share < 1e-3 ? "under 0.1 %" : fmt::format("{:.3g} %", 100 * share);
}

std::string power_of_two(double exponent) {
  return exponent < 0 ? fmt::format("{:g}", std::exp2(exponent))
                      : fmt::format("{:.0f}", std::exp2(exponent));
}

std::string other_precision(DType half) {
  return half == DType::f16 ? "bf16, which has the range of fp32" : "fp32";
}

std::string_view with_masters(DType half) { return half == DType::bf16 ? "bf16" : "fp16"; }

std::string layer_in_f32(const std::string& path) {
  return fmt::format("'{0}' in fp32 (--keep-fp32 {0}), or fp32", path);
}

/// Returns advice on the loss scale for gradients that are too small.
std::string scale_that_helps(DType half, const parity::GradientOff::Underflow& underflow) {
  std::string other = other_precision(half);
  if (half != DType::f16) return other;
  const std::string scale = power_of_two(underflow.needed_scale);
  const std::string highest = power_of_two(underflow.highest_scale);
  if (underflow.needed_scale > underflow.highest_scale)
    return fmt::format(
        "{}. No loss scale fits both the small and the large gradients: they need {}, but at most "
        "{} is possible",
        other,
        scale,
        highest);
  constexpr double kUsualCeiling = 24;
  return fmt::format(
      "a loss scale of {} (--loss-scale dynamic:loss_scale={}{}), up to {} is possible; or {}",
      scale,
      scale,
      underflow.needed_scale > kUsualCeiling ? ",ceiling=" + scale : "",
      highest,
      other);
}

/// Writes the sentences of one finding, by the kind of its evidence.
class Words {
 public:
  Words(const ParityAudit& audit, ParityFinding& finding) : audit_(audit), finding_(finding) {}

  void operator()(const parity::LossNotFinite&) {
    finding_.text = "in fp32, the loss of the first step is not finite, before any update";
    if (!finding_.layer.empty())
      finding_.text += fmt::format("; the output of {} is the first that is not", layer());
    finding_.advice = "check the data and the weights: the precision is not the cause";
  }
  void operator()(const parity::LossDiverges& loss) {
    finding_.text =
        fmt::format("fp32 itself diverges: its loss goes from {:.4g} to {:.4g} in step {}",
                    loss.first,
                    without_nan_sign(loss.now),
                    finding_.step);
    finding_.advice = "a lower learning rate or a longer warm-up: the precision is not the cause";
  }
  void operator()(const parity::OutputOverflows& output) {
    finding_.text = fmt::format(
        "{} of the output of {} overflow: the largest {} is {:.6g}, and the largest value in fp32 "
        "{:.4g}",
        percent(output.share),
        layer(),
        audit_.half,
        nn::largest_finite(audit_.half),
        output.largest);
    finding_.advice = other_precision(audit_.half);
    if (!output.holder.empty())
      finding_.advice += fmt::format("; or '{0}' in fp32 (--keep-fp32 {0})", output.holder);
    finding_.advice += "; or smaller weights or inputs there. A loss scale does not help";
  }
  void operator()(const parity::GradientOverflows& found) {
    finding_.text = found.gradient ? fmt::format("{} overflows at a loss scale of {}",
                                                 gradient(*found.gradient),
                                                 found.loss_scale)
                                   : fmt::format("{} of {} steps are skipped at a loss scale of {}",
                                                 found.skipped,
                                                 found.due,
                                                 found.loss_scale);
    if (audit_.scale_moves)
      finding_.text += ", and at every scale that a dynamic one reaches";
    else
      finding_.advice = fmt::format("a loss scale of {} at most, or a dynamic one; or ",
                                    power_of_two(found.highest_scale));
    finding_.advice += other_precision(audit_.half);
  }
  void operator()(const parity::OutputOff& output) {
    finding_.text =
        fmt::format("the output of {} is off by {} (its input by {}; up to {} would be rounding)",
                    layer(),
                    percent(output.error),
                    percent(output.input_error),
                    percent(output.tolerance));
    if (output.too_small)
      finding_.text +=
          fmt::format(": {} of it are too small for {}", percent(*output.too_small), audit_.half);
    finding_.advice = output.too_small ? other_precision(audit_.half) +
                                             "; or larger values there. A loss scale does not help"
                                       : layer_in_f32(finding_.layer);
  }
  void operator()(const parity::GradientOff& found) {
    finding_.text = fmt::format("{} is off by {} (cosine {:.2f})",
                                gradient(found.gradient),
                                percent(found.error),
                                found.cosine);
    if (found.underflow)
      finding_.text += fmt::format(": {} of it become zero and {} subnormal at a loss scale of {}",
                                   percent(found.underflow->zero),
                                   percent(found.underflow->subnormal),
                                   found.loss_scale);
    finding_.advice = found.underflow ? scale_that_helps(audit_.half, *found.underflow)
                                      : layer_in_f32(finding_.layer);
  }
  void operator()(const parity::UpdateGrows& update) {
    finding_.text = fmt::format(
        "the update of the parameters of {} {}: {} of the optimizer's '{}' there are zero in {}",
        layer(),
        update.times ? fmt::format("is {:.3g} times that of fp32", *update.times) : "is not finite",
        percent(update.emptied),
        update.state,
        audit_.half);
    finding_.advice = fmt::format(
        "weights and the optimizer's state in fp32 (--precision {0} or {0}-amp), or an optimizer "
        "that does not divide by a variance: sgd",
        with_masters(audit_.half));
  }
  void operator()(const parity::UpdateLost& update) {
    finding_.text = fmt::format(
        "rounding leaves {} of the length of all updates at a rate of {:.3g}: {} of the weights "
        "that fp32 changes stay unchanged ({} in '{}')",
        percent(update.left),
        update.lr,
        percent(update.zero),
        percent(update.zero_in_layer),
        finding_.layer);
    finding_.advice = fmt::format("masters in fp32 (--precision {}), or a higher rate",
                                  with_masters(audit_.half));
  }

 private:
  [[nodiscard]] std::string layer() const {
    return finding_.module.empty() ? fmt::format("'{}'", finding_.layer)
                                   : fmt::format("'{}', {},", finding_.layer, finding_.module);
  }
  [[nodiscard]] std::string gradient(const parity::Gradient& which) const {
    if (which.of_weights) return "the gradient of the parameters of " + layer();
    std::string text = "the gradient of the output of " + layer();
    if (!which.readers.empty())
      text += fmt::format(" which '{}' {} back,",
                          join(which.readers, "' and '"),
                          which.readers.size() == 1 ? "hands" : "hand");
    return text;
  }

  const ParityAudit& audit_;
  ParityFinding& finding_;
};

}  // namespace

void put_in_words(const ParityAudit& audit, ParityFinding& finding) {
  std::visit(Words(audit, finding), finding.evidence);
}

}  // namespace learn::callbacks
