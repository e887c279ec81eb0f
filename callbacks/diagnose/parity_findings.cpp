// Interpretation of the numbers of a parity audit.
#include "callbacks/diagnose/parity_compare.h"
#include "framework/nn/range_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace learn::callbacks {
namespace {

// `audit_parity` describes these limits. Numbers are measured on healthy nets.

/// Limit in units of rounding. One layer adds one or two to the error of its input; resnet50
/// reaches 100, but over many layers.
constexpr double kActivationUnits = 32;
/// The error at which less than two thirds of a gradient's direction remain. Healthy nets: 0.2 in
/// f16, 0.6 in bf16.
constexpr double kGradientError = 0.75;
/// Successful trainings recover from a loss below ten times the first.
constexpr double kDiverged = 10;
/// The share of values that must underflow to be the reason.
constexpr double kUnderflow = 0.2;
/// An error is attributed to a layer if it is this many times the error of the layer's input.
constexpr double kOwn = 4;
/// The length of an update in halves, relative to fp32.
constexpr double kUpdateGrows = 4;
constexpr double kUpdateLeft = 0.5;

double unit_of(DType half) { return half == DType::f16 ? 0x1p-11 : 0x1p-8; }

/// See parity::OutputOverflows::holder. A module that computes in f32 passes halves to the next
/// modules.
std::string holder(const std::vector<ParityLayer>& layers, std::size_t at, DType half) {
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

/// A place in the backward pass: the gradient of a layer's output precedes the gradients of its
/// parameters.
struct GradientPlace {
  std::size_t layer = 0;
  bool of_weights = false;

  [[nodiscard]] const ParityError& error(const ParityStep& step) const {
    return of_weights ? step.layers[layer].weights : step.layers[layer].gradient;
  }
  [[nodiscard]] parity::Gradient gradient(const ParityStep& step) const {
    return {of_weights, step.layers[layer].readers};
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

/// Returns the largest error of the gradients before this one.
double error_before(const ParityStep& step, const GradientPlace& place) {
  double worst = 0;
  for (std::size_t i = place.layer + (place.of_weights ? 0 : 1); i < step.layers.size(); ++i)
    worst = std::max(worst, step.layers[i].gradient.error);
  return worst;
}

/// Returns the largest loss scale, as an exponent of 2, at which twice the largest fp32 gradient
/// stored as halves is finite; it is not below a scale at which a step was made.
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

/// Returns the loss scale, as an exponent of 2, at which most elements are 16 times the smallest
/// number with full precision.
double needed_scale(DType half, const ParityError& gradient) {
  return std::max(0.0, std::ceil(std::log2(16 * nn::smallest_normal(half) / gradient.root_mean)));
}

ParityFinding finding_at(const ParityLayer& layer,
                         ParityProblem problem,
                         std::size_t step,
                         parity::Evidence evidence) {
  return {.problem = problem,
          .step = static_cast<std::int64_t>(step) + 1,
          .layer = layer.path,
          .module = layer.text,
          .evidence = std::move(evidence)};
}

using Found = std::optional<ParityFinding>;

/// Finds the problems of fp32 itself.
Found look_at_full(const std::vector<ParityStep>& steps) {
  const double first = steps.front().loss_full;
  if (!std::isfinite(first)) {
    const std::vector<ParityLayer>& layers = steps.front().layers;
    const auto bad = std::ranges::find_if(
        layers, [](const ParityLayer& layer) { return layer.activation.full_is_bad; });
    return finding_at(bad != layers.end() ? *bad : ParityLayer{},
                      ParityProblem::values,
                      0,
                      parity::LossNotFinite{});
  }
  const auto worse = [&](const ParityStep& step) {
    return !std::isfinite(step.loss_full) || step.loss_full > kDiverged * std::max(first, 1.0);
  };
  const bool ends_so = worse(steps.back());
  const auto at = std::ranges::find_if(steps, worse);
  if (at == steps.end() || (!ends_so && std::isfinite(at->loss_full))) return {};
  return finding_at({},
                    ParityProblem::rate,
                    static_cast<std::size_t>(at - steps.begin()),
                    parity::LossDiverges{first, at->loss_full});
}

Found find_overflow(const ParityAudit& audit, std::size_t steps) {
  for (std::size_t s = 0; s < steps; ++s) {
    const std::vector<ParityLayer>& layers = audit.steps[s].layers;
    const auto at = std::ranges::find_if(
        layers, [](const ParityLayer& layer) { return layer.activation.overflow > 0; });
    if (at == layers.end()) continue;
    const auto place = static_cast<std::size_t>(at - layers.begin());
    return finding_at(
        *at,
        ParityProblem::overflow,
        s,
        parity::OutputOverflows{
            at->activation.overflow, at->activation.largest, holder(layers, place, audit.half)});
  }
  return {};
}

Found find_gradient_overflow(const ParityAudit& audit, std::size_t steps) {
  const ParityStep& first = audit.steps.front();
  parity::GradientOverflows evidence{
      .gradient = {}, .loss_scale = first.loss_scale, .highest_scale = highest_scale(audit)};
  for (std::size_t s = 0; s < steps; ++s) {
    const ParityStep& step = audit.steps[s];
    evidence.due += step.applied_full ? 1 : 0;
    evidence.skipped += step.applied_full && !step.applied_half ? 1 : 0;
  }
  const auto place =
      first_gradient(first, [&](const GradientPlace& at) { return at.error(first).overflow > 0; });
  // If gradients are accumulated over all batches, no step was due, and one would be skipped.
  const bool passes = evidence.due > 0 ? 2 * evidence.skipped <= evidence.due : !place;
  if (audit.scale_moves ? audit.scale_found : passes) return {};
  if (place) evidence.gradient = place->gradient(first);
  return finding_at(place ? first.layers[place->layer] : ParityLayer{},
                    ParityProblem::gradient_overflow,
                    0,
                    std::move(evidence));
}

/// Finds the first output of the first step, from equal state, whose error is attributed to its
/// layer.
Found find_output_off(const ParityAudit& audit) {
  const ParityStep& first = audit.steps.front();
  const double tolerance = kActivationUnits * unit_of(audit.half);
  double before = 0;
  const auto at = std::ranges::find_if(first.layers, [&](const ParityLayer& layer) {
    before = std::max(before, layer.given.error);
    if (layer.activation.error > std::max(tolerance, kOwn * before)) return true;
    before = std::max(before, layer.activation.error);
    return false;
  });
  if (at == first.layers.end()) return {};
  const ParityError& error = at->activation;
  parity::OutputOff evidence{error.error, at->given.error, tolerance, {}};
  if (error.zero + error.subnormal >= kUnderflow) evidence.too_small = error.zero + error.subnormal;
  const bool lost = evidence.too_small.has_value();
  return finding_at(
      *at, lost ? ParityProblem::underflow : ParityProblem::rounding, 0, std::move(evidence));
}

/// Finds the first gradient of the first step that is too far off.
Found find_gradient_off(const ParityAudit& audit) {
  const ParityStep& first = audit.steps.front();
  const auto underflows = [&](const GradientPlace& place) {
    return place.error(first).zero + place.error(first).subnormal >= kUnderflow;
  };
  const auto place = first_gradient(first, [&](const GradientPlace& one) {
    const double off = one.error(first).error;
    return off > kGradientError && (underflows(one) || off > kOwn * error_before(first, one));
  });
  if (!place) return {};
  const ParityError& error = place->error(first);
  parity::GradientOff evidence{
      place->gradient(first), error.error, error.cosine, first.loss_scale, {}};
  const bool lost = underflows(*place);
  if (lost)
    evidence.underflow = {
        error.zero, error.subnormal, needed_scale(audit.half, error), highest_scale(audit)};
  return finding_at(first.layers[place->layer],
                    lost ? ParityProblem::underflow : ParityProblem::rounding,
                    0,
                    std::move(evidence));
}

/// Finds unbounded updates, which result from a mean that is not zero and a variance that is.
Found find_long_update(const ParityAudit& audit, std::size_t steps) {
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
    parity::UpdateGrows evidence{{}, longest->emptied, longest->emptied_state};
    if (longest->update.overflow == 0) evidence.times = longest->update.size;
    return finding_at(*longest, ParityProblem::update_grows, s, std::move(evidence));
  }
  return {};
}

/// Uses the step with the highest rate, because a warm-up may lose its first steps.
Found find_lost_updates(const ParityAudit& audit, std::size_t steps) {
  const ParityStep* highest = nullptr;
  for (std::size_t s = 0; s < steps; ++s) {
    const ParityStep& step = audit.steps[s];
    if (step.update.compared() && (highest == nullptr || step.lr > highest->lr)) highest = &step;
  }
  if (highest == nullptr || highest->update.size >= kUpdateLeft) return {};
  const ParityLayer& worst = *std::ranges::max_element(
      highest->layers, {}, [](const ParityLayer& layer) { return layer.update.zero; });
  return finding_at(
      worst,
      ParityProblem::update_lost,
      static_cast<std::size_t>(highest - audit.steps.data()),
      parity::UpdateLost{
          highest->update.size, highest->lr, highest->update.zero, worst.update.zero});
}

/// Finds the most important problem of half precision in the first `steps` steps.
Found find_half_problem(const ParityAudit& audit, std::size_t steps) {
  // An update that is too long causes the overflows of later steps.
  const Found long_update = find_long_update(audit, steps);
  const std::size_t begun = long_update ? static_cast<std::size_t>(long_update->step) : steps;
  if (Found found = find_overflow(audit, begun)) return found;
  if (Found found = find_gradient_overflow(audit, begun)) return found;
  if (Found found = find_output_off(audit)) return found;
  if (Found found = find_gradient_off(audit)) return found;
  return long_update ? long_update : find_lost_updates(audit, steps);
}

}  // namespace

std::vector<ParityFinding> find_problems(const ParityAudit& audit) {
  std::vector<ParityFinding> found;
  if (audit.steps.empty()) return found;
  const Found full = look_at_full(audit.steps);
  if (full) found.push_back(*full);
  // If the training diverges anyway, the effect of half precision shows only at the start.
  const bool hopeless = full && full->problem == ParityProblem::values;
  if (!hopeless)
    if (const Found half = find_half_problem(audit, full ? 1 : audit.steps.size()))
      found.push_back(*half);
  for (ParityFinding& finding : found) put_in_words(audit, finding);
  return found;
}

}  // namespace learn::callbacks
