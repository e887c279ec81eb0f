#include "callbacks/diagnose/parity_compare.h"

#include "framework/nn/range_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace learn::callbacks {
namespace {

/// Every value may become zero; none is checked for lost digits.
constexpr double kAnyValue = std::numeric_limits<double>::infinity();

/// Sums over the common and the differing parts of tensors.
class Sums {
 public:
  /// `scale` is the factor that values of `half` contain and values of `full` do not. Scaled values
  /// below `smallest` may be zero in half, or have lost digits.
  Sums(double smallest, double scale) : scale_(scale), smallest_(smallest) {}

  void add(const TensorTrace& full, const TensorTrace& half) {
    if (!full.defined() || !half.defined() || full.count != half.count) return;
    result_.count += full.count;
    result_.full_is_bad = result_.full_is_bad || full.not_finite > 0;
    result_.largest = std::max(result_.largest, full.largest);
    const std::int64_t beyond = std::max<std::int64_t>(half.not_finite - full.not_finite, 0);
    overflow_ += static_cast<double>(beyond);
    // Each sampled element represents this many.
    const double weight = static_cast<double>(full.count) / static_cast<double>(full.sample.size());
    for (std::size_t i = 0; i < full.sample.size(); ++i)
      add(static_cast<double>(full.sample[i]), static_cast<double>(half.sample[i]), weight, half);
  }

  [[nodiscard]] ParityError result() const {
    ParityError r = result_;
    if (!r.compared()) return r;
    r.overflow = overflow_ / static_cast<double>(r.count);
    r.root_mean = std::sqrt(full2_ / static_cast<double>(r.count));
    if (pairs_ == 0)
      r.error = std::numeric_limits<double>::quiet_NaN();
    else if (difference2_ > 0)
      r.error =
          full2_ > 0 ? std::sqrt(difference2_ / full2_) : std::numeric_limits<double>::infinity();
    if (full2_ > 0) {
      r.size = std::sqrt(half2_ / full2_);
      r.cosine = half2_ > 0 ? product_ / std::sqrt(full2_) / std::sqrt(half2_) : 0;
    }
    if (not_zero_ > 0) {
      r.zero = zero_ / not_zero_;
      r.subnormal = subnormal_ / not_zero_;
    }
    return r;
  }

 private:
  void add(double full, double stored, double weight, const TensorTrace& half) {
    if (!std::isfinite(full)) return;
    if (full != 0) not_zero_ += weight;
    if (!std::isfinite(stored)) return;
    const double value = stored / scale_;
    ++pairs_;
    full2_ += weight * full * full;
    half2_ += weight * value * value;
    product_ += weight * full * value;
    difference2_ += weight * (full - value) * (full - value);
    if (full == 0 || std::fabs(full * scale_) >= smallest_) return;
    if (stored == 0)
      zero_ += weight;
    else if (smallest_ != kAnyValue && is_half(half.dtype) && std::fabs(stored) < smallest_)
      subnormal_ += weight;
  }

  double scale_;
  double smallest_;
  ParityError result_;
  std::int64_t pairs_ = 0;
  double full2_ = 0;
  double half2_ = 0;
  double product_ = 0;
  double difference2_ = 0;
  double not_zero_ = 0;
  double zero_ = 0;
  double subnormal_ = 0;
  double overflow_ = 0;
};

std::string shown_path(const std::string& path) { return path.empty() ? "(model)" : path; }

/// The n-th call of a module in both runs.
struct Pair {
  const CallTrace* full;
  const CallTrace* half;
};

std::vector<Pair> pairs_of(const StepTrace& full, const StepTrace& half) {
  std::map<std::string, std::vector<const CallTrace*>> calls;
  for (const CallTrace& call : half.calls) calls[call.path].push_back(&call);
  std::map<std::string, std::size_t> seen;
  std::vector<Pair> pairs;
  for (const CallTrace& call : full.calls) {
    const std::vector<const CallTrace*>& others = calls[call.path];
    if (const std::size_t n = seen[call.path]++; n < others.size())
      pairs.push_back({&call, others[n]});
  }
  return pairs;
}

ParityError error_of(const TensorTrace& full,
                     const TensorTrace& half,
                     double smallest,
                     double scale) {
  Sums sums(smallest, scale);
  sums.add(full, half);
  return sums.result();
}

/// Returns the row of a parameter: the row of its module's first call, or of the nearest enclosing
/// module, or a new one.
std::size_t row_of(std::vector<ParityLayer>& layers, const std::string& parameter) {
  std::string path = parameter;
  std::optional<std::string> own;
  while (!path.empty()) {
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
    if (!own) own = shown_path(path);
    const auto found = std::ranges::find(layers, shown_path(path), &ParityLayer::path);
    if (found != layers.end()) return static_cast<std::size_t>(found - layers.begin());
  }
  layers.push_back({.path = own.value_or(shown_path({}))});
  return layers.size() - 1;
}

/// Rows in which the parameters of one module are one vector.
class Rows {
 public:
  Rows(std::vector<ParityLayer>& layers, const std::vector<ParityParam>& params)
      : layers_(layers), params_(params) {}

  [[nodiscard]] std::map<std::size_t, ParityError> compare(const std::vector<TensorTrace>& full,
                                                           const std::vector<TensorTrace>& half,
                                                           double smallest,
                                                           double scale) {
    std::map<std::size_t, Sums> sums;
    for (std::size_t i = 0; i < std::min(full.size(), half.size()); ++i)
      if (full[i].defined() && half[i].defined())
        sums.try_emplace(row_of(layers_, params_[i].name), smallest, scale)
            .first->second.add(full[i], half[i]);
    std::map<std::size_t, ParityError> errors;
    for (const auto& [row, sum] : sums) errors[row] = sum.result();
    return errors;
  }

 private:
  std::vector<ParityLayer>& layers_;
  const std::vector<ParityParam>& params_;
};

void compare_updates(const StepTrace& full, const StepTrace& half, Rows rows, ParityStep& step) {
  const auto stored_as_half = [](const TensorTrace& trace) { return is_half(trace.dtype); };
  if (std::ranges::none_of(half.updates, stored_as_half)) return;
  Sums all(kAnyValue, 1);
  for (std::size_t i = 0; i < std::min(full.updates.size(), half.updates.size()); ++i)
    all.add(full.updates[i], half.updates[i]);
  step.update = all.result();
  for (const auto& [row, error] : rows.compare(full.updates, half.updates, kAnyValue, 1))
    step.layers[row].update = error;
  for (const auto& [name, state] : full.states) {
    const auto other = half.states.find(name);
    if (other == half.states.end()) continue;
    for (const auto& [row, error] : rows.compare(state, other->second, kAnyValue, 1))
      if (ParityLayer& layer = step.layers[row]; error.zero > layer.emptied) {
        layer.emptied_state = name;
        layer.emptied = error.zero;
      }
  }
}

}  // namespace

ParityStep compare_steps(const StepTrace& full,
                         const StepTrace& half,
                         DType half_dtype,
                         const std::vector<ParityParam>& params) {
  ParityStep step{.loss_full = full.loss,
                  .loss_half = half.loss,
                  .lr = full.lr,
                  .loss_scale = static_cast<float>(half.seed),
                  .applied_full = full.applied,
                  .applied_half = half.applied};
  const double smallest = nn::smallest_normal(half_dtype);
  const std::vector<Pair> pairs = pairs_of(full, half);
  for (const Pair& pair : pairs) {
    ParityLayer layer{.path = shown_path(pair.full->path),
                      .text = pair.full->text,
                      .dtype = pair.half->made.dtype};
    layer.given = error_of(pair.full->given, pair.half->given, smallest, 1);
    for (std::size_t i = 0; i < step.layers.size(); ++i) {
      if (pairs[i].full->output != pair.full->input) continue;
      layer.given = step.layers[i].activation;
      step.layers[i].readers.push_back(layer.path);
    }
    layer.activation = error_of(pair.full->made, pair.half->made, smallest, 1);
    layer.gradient = error_of(pair.full->gradient, pair.half->gradient, smallest, half.seed);
    if (is_half(pair.half->gradient.dtype)) layer.largest_scaled = layer.gradient.largest;
    step.layers.push_back(std::move(layer));
  }
  Rows rows(step.layers, params);
  if (full.alone && half.alone)
    for (const auto& [row, error] :
         rows.compare(full.parameters, half.parameters, smallest, half.seed))
      step.layers[row].weights = error;
  for (std::size_t i = 0; i < std::min(full.parameters.size(), half.parameters.size()); ++i)
    if (full.parameters[i].defined() && !params[i].keeps_f32) {
      double& largest = step.layers[row_of(step.layers, params[i].name)].largest_scaled;
      largest = std::max(largest, full.parameters[i].largest);
    }
  compare_updates(full, half, rows, step);
  return step;
}

}  // namespace learn::callbacks
