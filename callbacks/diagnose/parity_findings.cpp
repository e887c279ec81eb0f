// What the numbers of a parity audit mean.
#include "callbacks/diagnose/parity_compare.h"
#include "framework/core/nan_sign.h"
#include "framework/nn/range_scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace learn::callbacks {
namespace {

// The reasons stand at `audit_parity`.
constexpr double kActivationUnits = 32;
constexpr double kGradientError = 0.75;
constexpr double kDiverged = 10;
constexpr double kUnderflow = 0.2;
constexpr double kOwn = 4;
constexpr double kUpdateGrows = 4;
constexpr double kUpdateLeft = 0.5;

double unit_of(DType half) { return half == DType::f16 ? 0x1p-11 : 0x1p-8; }

std::string_view with_masters(const ParityAudit& audit) {
  return audit.half == DType::bf16 ? "bf16" : "fp16";
}

std::string percent(double share) {
  return share > 0 && share < 1e-3 ? "under 0.1 %" : fmt::format("{:.3g} %", 100 * share);
}

std::string described(const ParityLayer& layer) {
  return layer.text.empty() ? fmt::format("'{}'", layer.path)
                            : fmt::format("'{}', {},", layer.path, layer.text);
}

std::string other_precision(DType half) {
  return half == DType::f16 ? "bf16, which has the range of fp32" : "fp32";
}

/// The smallest module around a layer whose own output a half holds: one that computes in f32 gives
/// halves to what follows. Empty if there is none.
std::string keepable(const std::vector<ParityLayer>& layers, std::size_t at, DType half) {
  std::string path = layers[at].path;
  while (true) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
    const auto inside = [&](const ParityLayer& layer) {
      return layer.path == path || layer.path.starts_with(path + ".");
    };
    const auto last = std::find_if(layers.rbegin(), layers.rend(), inside);
    if (last->activation.largest <= nn::largest_finite(half)) return path;
  }
}

/// A place in the backward pass: what reaches a layer's output, then what its parameters get.
struct GradientPlace {
  std::size_t layer = 0;
  bool of_weights = false;

  [[nodiscard]] const ParityError& error(const ParityStep& step) const {
    return of_weights ? step.layers[layer].weights : step.layers[layer].gradient;
  }
};

template <class Wanted>
std::optional<GradientPlace> first_gradient(const ParityStep& step, Wanted wanted) {
  for (std::size_t i = step.layers.size(); i-- > 0;)
    for (const bool of_weights : {false, true})
      if (const GradientPlace place{i, of_weights}; place.error(step).compared() && wanted(place))
        return place;
  return std::nullopt;
}

/// The largest error of the gradients that were there before this one.
double error_before(const ParityStep& step, const GradientPlace& place) {
  double worst = 0;
  for (std::size_t i = place.layer + (place.of_weights ? 0 : 1); i < step.layers.size(); ++i)
    worst = std::max(worst, step.layers[i].gradient.error);
  return worst;
}

std::string text_of(const ParityStep& step, const GradientPlace& place) {
  const ParityLayer& layer = step.layers[place.layer];
  if (place.of_weights)
    return fmt::format("the gradient of the parameters of {}", described(layer));
  std::string text = fmt::format("the gradient of the output of {}", described(layer));
  if (!layer.readers.empty())
    text += fmt::format(" which '{}' hands back,", join(layer.readers, "' and '"));
  return text;
}

std::string power_of_two(double exponent) {
  return exponent < 0 ? fmt::format("{:g}", std::exp2(exponent))
                      : fmt::format("{:.0f}", std::exp2(exponent));
}

/// The largest loss scale, as an exponent of 2, at which twice the largest gradient of fp32 that is
/// held by halves is finite; one at which a step was made is no lower.
double highest_scale(const ParityAudit& audit) {
  double largest = std::numeric_limits<double>::min();
  for (const ParityLayer& layer : audit.steps.front().layers)
    largest = std::max(largest, layer.largest_scaled);
  double highest = std::floor(std::log2(nn::largest_finite(audit.half) / largest)) - 1;
  for (const ParityStep& step : audit.steps)
    if (step.applied_half)
      highest = std::max(highest, std::floor(std::log2(static_cast<double>(step.loss_scale))));
  return highest;
}

/// What a loss scale can do for gradients that are too small.
std::string scale_that_helps(const ParityAudit& audit, const ParityError& error) {
  const DType half = audit.half;
  std::string other = other_precision(half);
  if (half != DType::f16) return other;
  // Most elements are then 16 times what has all its digits.
  const double needed =
      std::max(0.0, std::ceil(std::log2(16 * nn::smallest_normal(half) / error.root_mean)));
  const double highest = highest_scale(audit);
  if (needed > highest)
    return fmt::format(
        "{}. No loss scale holds the small gradients and the large ones: they need {}, and at most "
        "{} is possible",
        other,
        power_of_two(needed),
        power_of_two(highest));
  const std::string scale = power_of_two(needed);
  constexpr double kUsualCeiling = 24;
  return fmt::format(
      "a loss scale of {} (--loss-scale dynamic:loss_scale={}{}), up to {} is possible; or {}",
      scale,
      scale,
      needed > kUsualCeiling ? ",ceiling=" + scale : "",
      power_of_two(highest),
      other);
}

/// What is wrong with fp32 itself.
void look_at_full(const std::vector<ParityStep>& steps, std::vector<ParityFinding>& found) {
  if (!std::isfinite(steps.front().loss_full)) {
    ParityFinding finding{.problem = ParityProblem::values,
                          .text =
                              "the loss of fp32 is not finite in the first step, before "
                              "anything was learned",
                          .advice =
                              "look at the data and at the weights: the precision is not "
                              "the reason"};
    for (const ParityLayer& layer : steps.front().layers)
      if (finding.layer.empty() && layer.activation.full_is_bad) {
        finding.layer = layer.path;
        finding.text +=
            fmt::format("; the output of {} is the first that is not", described(layer));
      }
    found.push_back(std::move(finding));
    return;
  }
  const double first = steps.front().loss_full;
  const auto worse = [&](const ParityStep& step) {
    return !std::isfinite(step.loss_full) || step.loss_full > kDiverged * std::max(first, 1.0);
  };
  const bool ends_so = worse(steps.back());
  const auto at = std::ranges::find_if(steps, worse);
  if (at == steps.end() || (!ends_so && std::isfinite(at->loss_full))) return;
  found.push_back(
      {.problem = ParityProblem::rate,
       .step = at - steps.begin() + 1,
       .text = fmt::format("fp32 itself diverges: its loss goes from {:.4g} to {:.4g} in step {}",
                           first,
                           without_nan_sign(at->loss_full),
                           at - steps.begin() + 1),
       .advice = "a lower learning rate, or a longer warm-up: the rate is the problem, not the "
                 "precision"});
}

bool look_for_overflow(const ParityAudit& audit,
                       std::size_t steps,
                       std::vector<ParityFinding>& found) {
  for (std::size_t s = 0; s < steps; ++s) {
    const std::vector<ParityLayer>& layers = audit.steps[s].layers;
    const auto at = std::ranges::find_if(
        layers, [](const ParityLayer& layer) { return layer.activation.overflow > 0; });
    if (at == layers.end()) continue;
    const auto place = static_cast<std::size_t>(at - layers.begin());
    const std::string keep = keepable(layers, place, audit.half);
    found.push_back(
        {.problem = ParityProblem::overflow,
         .step = static_cast<std::int64_t>(s) + 1,
         .layer = at->path,
         .text = fmt::format("{} of the output of {} overflow: the largest {} is {:.6g}, and the "
                             "largest value in fp32 {:.4g}",
                             percent(at->activation.overflow),
                             described(*at),
                             audit.half,
                             nn::largest_finite(audit.half),
                             at->activation.largest),
         .advice = other_precision(audit.half) +
                   (keep.empty() ? "" : fmt::format("; or '{0}' in fp32 (--keep-fp32 {0})", keep)) +
                   "; or smaller weights or inputs there. No loss scale changes it"});
    return true;
  }
  return false;
}

bool look_for_gradient_overflow(const ParityAudit& audit,
                                std::size_t steps,
                                std::vector<ParityFinding>& found) {
  const ParityStep& first = audit.steps.front();
  std::size_t due = 0;
  std::size_t skipped = 0;
  for (std::size_t s = 0; s < steps; ++s) {
    const ParityStep& step = audit.steps[s];
    due += step.applied_full ? 1 : 0;
    skipped += step.applied_full && !step.applied_half ? 1 : 0;
  }
  const auto place =
      first_gradient(first, [&](const GradientPlace& at) { return at.error(first).overflow > 0; });
  // Where gradients are accumulated over all batches no step was due, and one would be skipped.
  const bool passes = due > 0 ? 2 * skipped <= due : !place;
  if (audit.scale_moves ? audit.scale_found : passes) return false;
  ParityFinding finding{.problem = ParityProblem::gradient_overflow};
  finding.text = fmt::format(
      "{} of {} steps are skipped at a loss scale of {}", skipped, due, first.loss_scale);
  if (place) {
    finding.layer = first.layers[place->layer].path;
    finding.text =
        fmt::format("{} overflows at a loss scale of {}", text_of(first, *place), first.loss_scale);
  }
  const double highest = highest_scale(audit);
  if (audit.scale_moves)
    finding.text += ", and at all that a dynamic one comes to";
  else
    finding.advice =
        fmt::format("a loss scale of {} at most, or a dynamic one; or ", power_of_two(highest));
  finding.advice += other_precision(audit.half);
  found.push_back(std::move(finding));
  return true;
}

/// Errors of the first step, from equal state.
bool look_for_departure(const ParityAudit& audit, std::vector<ParityFinding>& found) {
  const ParityStep& first = audit.steps.front();
  const double tolerance = kActivationUnits * unit_of(audit.half);
  double before = 0;
  const auto at = std::ranges::find_if(first.layers, [&](const ParityLayer& layer) {
    before = std::max(before, layer.given.error);
    if (layer.activation.error > std::max(tolerance, kOwn * before)) return true;
    before = std::max(before, layer.activation.error);
    return false;
  });
  if (at != first.layers.end()) {
    const ParityError& error = at->activation;
    const bool lost = error.zero + error.subnormal >= kUnderflow;
    found.push_back(
        {.problem = lost ? ParityProblem::underflow : ParityProblem::rounding,
         .layer = at->path,
         .text = fmt::format(
             "the output of {} is off by {} (its input by {}; up to {} would be rounding){}",
             described(*at),
             percent(error.error),
             percent(at->given.error),
             percent(tolerance),
             lost ? fmt::format(": {} of it are too small for {}",
                                percent(error.zero + error.subnormal),
                                audit.half)
                  : ""),
         .advice = lost ? other_precision(audit.half) + "; or larger values there. No loss scale "
                                                        "changes it"
                        : fmt::format("'{0}' in fp32 (--keep-fp32 {0}), or fp32", at->path)});
    return true;
  }
  const auto underflows = [&](const GradientPlace& place) {
    return place.error(first).zero + place.error(first).subnormal >= kUnderflow;
  };
  const auto place = first_gradient(first, [&](const GradientPlace& one) {
    const double off = one.error(first).error;
    return off > kGradientError && (underflows(one) || off > kOwn * error_before(first, one));
  });
  if (!place) return false;
  const ParityLayer& layer = first.layers[place->layer];
  const ParityError& error = place->error(first);
  const bool lost = underflows(*place);
  found.push_back(
      {.problem = lost ? ParityProblem::underflow : ParityProblem::rounding,
       .layer = layer.path,
       .text = fmt::format("{} is off by {} (cosine {:.2f}){}",
                           text_of(first, *place),
                           percent(error.error),
                           error.cosine,
                           lost ? fmt::format(": {} of it become zero and {} subnormal at a loss "
                                              "scale of {}",
                                              percent(error.zero),
                                              percent(error.subnormal),
                                              first.loss_scale)
                                : ""),
       .advice = lost ? scale_that_helps(audit, error)
                      : fmt::format("'{0}' in fp32 (--keep-fp32 {0}), or fp32", layer.path)});
  return true;
}

/// A variance of zero makes of a mean that is not an update without bound.
std::optional<ParityFinding> find_long_update(const ParityAudit& audit, std::size_t steps) {
  const auto too_long = [](const ParityLayer& layer) {
    const ParityError& update = layer.update;
    return update.compared() && (update.size > kUpdateGrows || update.overflow > 0) &&
           layer.emptied >= kUnderflow;
  };
  const auto shorter = [](const ParityLayer& a, const ParityLayer& b) {
    return std::pair(a.update.overflow, a.update.size) <
           std::pair(b.update.overflow, b.update.size);
  };
  for (std::size_t s = 0; s < steps; ++s) {
    const ParityLayer* longest = nullptr;
    for (const ParityLayer& layer : audit.steps[s].layers)
      if (too_long(layer) && (longest == nullptr || shorter(*longest, layer))) longest = &layer;
    if (longest == nullptr) continue;
    const ParityError& update = longest->update;
    const std::string how = update.overflow > 0
                                ? "is not finite"
                                : fmt::format("is {:.3g} times that of fp32", update.size);
    return ParityFinding{
        .problem = ParityProblem::update_grows,
        .step = static_cast<std::int64_t>(s) + 1,
        .layer = longest->path,
        .text = fmt::format("the update of the parameters of {} {}: {} of the optimizer's '{}' "
                            "there are zero in {}",
                            described(*longest),
                            how,
                            percent(longest->emptied),
                            longest->emptied_state,
                            audit.half),
        .advice = fmt::format("weights and the optimizer's state in fp32 (--precision {0} or "
                              "{0}-amp), or an optimizer that divides by no variance: sgd",
                              with_masters(audit))};
  }
  return std::nullopt;
}

/// At the highest rate, as a warm-up may lose its first steps.
void look_for_lost_updates(const ParityAudit& audit,
                           std::size_t steps,
                           std::vector<ParityFinding>& found) {
  const ParityStep* highest = nullptr;
  for (std::size_t s = 0; s < steps; ++s) {
    const ParityStep& step = audit.steps[s];
    if (step.update.compared() && (highest == nullptr || step.lr > highest->lr)) highest = &step;
  }
  if (highest == nullptr || highest->update.size >= kUpdateLeft) return;
  const ParityLayer& worst = *std::ranges::max_element(
      highest->layers, {}, [](const ParityLayer& layer) { return layer.update.zero; });
  found.push_back(
      {.problem = ParityProblem::update_lost,
       .step = highest - audit.steps.data() + 1,
       .layer = worst.path,
       .text = fmt::format("of all updates {} of the length is left at a rate of {:.3g}: {} of the "
                           "weights that fp32 changes stay as they are, and {} of those of '{}'",
                           percent(highest->update.size),
                           highest->lr,
                           percent(highest->update.zero),
                           percent(worst.update.zero),
                           worst.path),
       .advice =
           fmt::format("masters in fp32 (--precision {}), or a higher rate", with_masters(audit))});
}

}  // namespace

std::vector<ParityFinding> find_problems(const ParityAudit& audit) {
  std::vector<ParityFinding> found;
  if (audit.steps.empty()) return found;
  look_at_full(audit.steps, found);
  if (!found.empty() && found.front().problem == ParityProblem::values) return found;
  // What half precision does to a training that diverges anyhow shows at its beginning only.
  const std::size_t steps = found.empty() ? audit.steps.size() : 1;
  // An update that is too long makes the overflows of later steps.
  const std::optional<ParityFinding> long_update = find_long_update(audit, steps);
  const std::size_t begun = long_update ? static_cast<std::size_t>(long_update->step) : steps;
  if (look_for_overflow(audit, begun, found)) return found;
  if (look_for_gradient_overflow(audit, begun, found)) return found;
  if (look_for_departure(audit, found)) return found;
  if (long_update)
    found.push_back(*long_update);
  else
    look_for_lost_updates(audit, steps, found);
  return found;
}

}  // namespace learn::callbacks
