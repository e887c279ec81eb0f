#include "callbacks/parity_compare.h"

#include "framework/nn/range_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace learn::callbacks {
namespace {

/// Adds up what tensors have in common and what not.
class Sums {
 public:
  /// `scale` is what both values of `half` hold and those of `full` do not.
  Sums(DType half_dtype, double scale) : scale_(scale), half_dtype_(half_dtype) {}

  void add(const TensorTrace& full, const TensorTrace& half) {
    if (!full.defined() || !half.defined() || full.count != half.count) return;
    result_.count += full.count;
    result_.full_is_bad = result_.full_is_bad || full.not_finite > 0;
    result_.largest = std::max(result_.largest, full.largest);
    const std::int64_t beyond = std::max<std::int64_t>(half.not_finite - full.not_finite, 0);
    overflow_ += static_cast<double>(beyond);
    // Each element of a sample stands for so many.
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
    if (full2_ > 0) r.cosine = 0;
    if (full2_ > 0 && half2_ > 0) r.cosine = product_ / std::sqrt(full2_) / std::sqrt(half2_);
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
    const double smallest = nn::smallest_normal(half_dtype_);
    if (full == 0 || std::fabs(full * scale_) >= smallest) return;
    if (stored == 0)
      zero_ += weight;
    else if (is_half(half.dtype) && std::fabs(stored) < smallest)
      subnormal_ += weight;
  }

  double scale_;
  DType half_dtype_;
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

/// Calls of both runs that are the n-th of their module.
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
                     DType half_dtype,
                     double scale) {
  Sums sums(half_dtype, scale);
  sums.add(full, half);
  return sums.result();
}

/// The row that a parameter belongs to: that of its module's first call, or of the nearest around
/// it, or a new one.
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

}  // namespace

ParityStep compare_steps(const StepTrace& full,
                         const StepTrace& half,
                         DType half_dtype,
                         const std::vector<std::string>& names) {
  ParityStep step{.loss_full = full.loss,
                  .loss_half = half.loss,
                  .lr = full.lr,
                  .loss_scale = half.seed,
                  .applied_full = full.applied,
                  .applied_half = half.applied};
  const std::vector<Pair> pairs = pairs_of(full, half);
  for (const Pair& pair : pairs) {
    ParityLayer layer{.path = shown_path(pair.full->path),
                      .text = pair.full->text,
                      .dtype = pair.half->made.dtype};
    layer.given = error_of(pair.full->given, pair.half->given, half_dtype, 1);
    for (std::size_t i = 0; i < step.layers.size(); ++i) {
      if (pairs[i].full->output != pair.full->input) continue;
      layer.given = step.layers[i].activation;
      step.layers[i].readers.push_back(layer.path);
    }
    layer.activation = error_of(pair.full->made, pair.half->made, half_dtype, 1);
    layer.gradient = error_of(pair.full->gradient, pair.half->gradient, half_dtype, half.seed);
    step.layers.push_back(std::move(layer));
  }
  if (!full.alone || !half.alone || full.parameters.size() != half.parameters.size()) return step;
  std::map<std::size_t, Sums> sums;
  for (std::size_t i = 0; i < full.parameters.size(); ++i)
    if (full.parameters[i].defined() && half.parameters[i].defined())
      sums.try_emplace(row_of(step.layers, names[i]), half_dtype, half.seed)
          .first->second.add(full.parameters[i], half.parameters[i]);
  for (const auto& [row, sum] : sums) step.layers[row].weights = sum.result();
  return step;
}

}  // namespace learn::callbacks
