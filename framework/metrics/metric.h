#pragma once
#include "framework/evaluation/label_report.h"
#include "framework/interfaces/state_visitor.h"
#include "framework/interfaces/target_kind.h"
#include "framework/tensor/tensor.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

class Context;

/// The accumulated state of one metric in one pass.
class MetricPass {
 public:
  virtual ~MetricPass() = default;
  virtual void add(const Tensor& pred, const Tensor& target) = 0;
  /// The value for the batches so far; does not change the state. May wait for the device.
  [[nodiscard]] virtual double value() const = 0;
  /// The state that an interrupted training pass needs to continue; at most `most` samples were
  /// added. Throws CheckpointError for a state of more samples.
  virtual void visit_state(std::int64_t most, StateVisitor& visitor) = 0;
};

/// A function that returns a sum over the batch's samples.
template <class F>
concept SumsSamples = requires(const F& f, Context& ctx, const Tensor& batch) {
  { f(ctx, batch, batch) } -> std::convertible_to<double>;
};
/// A function that counts samples on the device: adds to the one i64 element of `count`.
template <class F>
concept CountsSamples = requires(const F& f, Context& ctx, const Tensor& batch, Tensor& count) {
  { f(ctx, batch, batch, count) } -> std::same_as<void>;
};
/// An object that accumulates a pass and returns its value.
template <class T>
concept AddsUpPass = std::copyable<T> && requires(T& pass, Context& ctx, const Tensor& batch) {
  pass.add(ctx, batch, batch);
  { std::as_const(pass).value() } -> std::convertible_to<double>;
};

/// One whose pass can be saved in its middle and continued.
template <class T>
concept ContinuesPass = requires(T& pass, Context& ctx, std::int64_t most, StateVisitor& visitor) {
  pass.visit_state(ctx, most, visitor);
};

/// A number that validation measures, and training on request. `pred` is (N,classes) f32, `target`
/// as the batch holds it.
///
/// One that is a mean over samples is a name and a function that returns the sum of a batch;
/// batches count by their size, so a short last one does not count too much:
///
///     Metric{"mean", [](Context& ctx, const Tensor& pred, const Tensor& target) { return 1.5; }}
///
/// One that is not, like recall, is a name and an object; each pass adds to a copy of it:
///
///     struct Recall {
///       double right = 0, all = 0;
///       void add(Context& ctx, const Tensor& pred, const Tensor& target) { ... }
///       double value() const { return right / all; }
///     };
///     Metric{"recall", Recall{}}
///
/// An object that has `void visit_state(Context&, std::int64_t most, StateVisitor&)` too is
/// continued where a training is resumed in the middle of an epoch; of another the training pass of
/// that epoch has no value: NaN.
///
/// What they read of `pred` they bring to the host themselves (`to_host`), so each batch waits for
/// the device. A mean that counts samples by operations of the backend need not wait: it is a
/// function with a fourth parameter, `Tensor& count`, to which it adds, one i64 element on the
/// device, which the host reads once per pass.
struct Metric {
  template <SumsSamples F>
  Metric(std::string its_name, F sum);
  template <CountsSamples F>
  Metric(std::string its_name, F count);
  template <AddsUpPass T>
  Metric(std::string its_name, T fresh);

  std::string name;
  /// Starts a pass.
  std::function<std::unique_ptr<MetricPass>(Context&)> begin;
  /// Minimum number of classes; 0: any.
  int least_classes = 0;
  /// Supported targets; empty: any.
  std::optional<TargetKind> targets{};

  /// Throws UsageError for fewer classes than it needs.
  void check_classes(std::int64_t classes) const;
};

/// The metrics of one pass.
class MetricPasses {
 public:
  /// Borrows the metrics.
  MetricPasses(Context& ctx, const std::vector<Metric>& metrics);
  /// Adds a batch. `values` throws for a fault in data that only the device can detect. Throws
  /// UsageError as `Metric::check_classes`.
  void add(const Tensor& pred, const Tensor& target);
  /// Names and values in the order of the metrics; a mean of no samples is NaN. Waits for the
  /// device.
  [[nodiscard]] std::vector<std::pair<std::string, double>> values() const;
  /// The state of an unfinished pass with `most` samples.
  void visit_state(std::int64_t most, StateVisitor& visitor);

 private:
  const std::vector<Metric>* metrics_;
  std::vector<std::unique_ptr<MetricPass>> passes_;
};

/// Targets of the first, up to `ece`, are classes (N) i64 or weights (N,classes) f32, of which the
/// largest is the class. A NaN is never right: see `kernels::count_hits`. A class that the
/// predictions do not have is a DataError.
namespace metrics {

[[nodiscard]] Metric accuracy();
[[nodiscard]] Metric error_rate();
/// Share of samples whose class is among the `k` largest logits. Throws UsageError for k < 1, and
/// where it is used with fewer than `k` classes.
[[nodiscard]] Metric top_k(int k);

/// Value of one class ("recall_3"), or the mean over the classes that occur or are predicted
/// ("recall"). Equals scikit-learn's recall_score etc. with average="macro" and zero_division=0: a
/// ratio of nothing to nothing is 0. A pass without samples gives NaN, for these and the metrics
/// below. No batch waits for the device, where 20 bytes are kept of each sample until the end of
/// the pass. Throw UsageError for a negative class, and where they are used without that class.
[[nodiscard]] Metric recall(std::optional<int> of_class = {});
[[nodiscard]] Metric precision(std::optional<int> of_class = {});
[[nodiscard]] Metric f1(std::optional<int> of_class = {});
/// `ConfusionMatrix::kappa` and `ConfusionMatrix::matthews`; keep 20 bytes of each sample, too.
[[nodiscard]] Metric kappa();
[[nodiscard]] Metric mcc();

/// `mean_roc_auc`. No batch waits for the device, where all logits are kept until the end of the
/// pass: 4 bytes for each class of each sample, and 8.
[[nodiscard]] Metric auc();
inline constexpr int kCalibrationBins = 15;  // Guo et al. 2017
/// `expected_calibration_error` ("ece"; with another number of bins "ece_20"); keeps all logits,
/// too. Throws UsageError for less than one bin.
[[nodiscard]] Metric ece(int bins = kCalibrationBins);

// The following are for several labels, or for real numbers: targets (N,outputs) f32. No batch
// waits for the device, where 8 bytes for each output of each sample are kept until the end of the
// pass. A pass without samples is NaN.

/// Share of correct decisions, one for each label of each sample (`LabelReport::accuracy`), where a
/// label is predicted if its probability is above `threshold`; for a threshold other than 0.5,
/// "accuracy_multi_0.3". Throw UsageError unless that is in [0, 1).
[[nodiscard]] Metric accuracy_multi(double threshold = kLabelThreshold);
/// Means over the labels (`LabelReport::macro`).
[[nodiscard]] Metric precision_multi(double threshold = kLabelThreshold);
[[nodiscard]] Metric recall_multi(double threshold = kLabelThreshold);
[[nodiscard]] Metric f1_multi(double threshold = kLabelThreshold);
/// The mean over the labels of `learn::average_precision`.
[[nodiscard]] Metric average_precision();

/// Means over the values (`ValueReport::mean`).
[[nodiscard]] Metric mae();
[[nodiscard]] Metric rmse();
[[nodiscard]] Metric r2();

}  // namespace metrics

namespace detail {

/// Means over samples of what a function adds up on the host.
template <SumsSamples F>
class SumPass final : public MetricPass {
 public:
  SumPass(Context& ctx, F sum) : ctx_(ctx), sum_(std::move(sum)) {}
  void add(const Tensor& pred, const Tensor& target) override {
    total_ += sum_(ctx_, pred, target);
    samples_ += pred.shape()[0];
  }
  [[nodiscard]] double value() const override { return total_ / static_cast<double>(samples_); }
  void visit_state(std::int64_t most, StateVisitor& visitor) override {
    visitor.visit("total", total_);
    visitor.visit("samples", samples_, {.high = most});
  }

 private:
  Context& ctx_;
  F sum_;
  double total_ = 0;
  std::int64_t samples_ = 0;
};

using CountSamples = std::function<void(Context&, const Tensor&, const Tensor&, Tensor&)>;
[[nodiscard]] std::unique_ptr<MetricPass> begin_count(Context& ctx, const CountSamples& count);

template <AddsUpPass T>
class ObjectPass final : public MetricPass {
 public:
  ObjectPass(Context& ctx, T fresh) : ctx_(ctx), object_(std::move(fresh)) {}
  void add(const Tensor& pred, const Tensor& target) override { object_.add(ctx_, pred, target); }
  [[nodiscard]] double value() const override {
    return lost_ ? std::numeric_limits<double>::quiet_NaN() : object_.value();
  }
  void visit_state(std::int64_t most, StateVisitor& visitor) override {
    if constexpr (ContinuesPass<T>)
      object_.visit_state(ctx_, most, visitor);
    else
      lost_ = lost_ || visitor.loading();
  }

 private:
  Context& ctx_;
  T object_;
  bool lost_ = false;  // its sums before the pass was interrupted
};

}  // namespace detail

template <SumsSamples F>
Metric::Metric(std::string its_name, F sum)
    : name(std::move(its_name)), begin([sum = std::move(sum)](Context& ctx) {
        return std::make_unique<detail::SumPass<F>>(ctx, sum);
      }) {}

template <CountsSamples F>
Metric::Metric(std::string its_name, F count)
    : name(std::move(its_name)),
      begin([count = detail::CountSamples(std::move(count))](Context& ctx) {
        return detail::begin_count(ctx, count);
      }) {}

template <AddsUpPass T>
Metric::Metric(std::string its_name, T fresh)
    : name(std::move(its_name)), begin([fresh = std::move(fresh)](Context& ctx) {
        return std::make_unique<detail::ObjectPass<T>>(ctx, fresh);
      }) {}

}  // namespace learn
