#include "callbacks/diagnose/parity_audit.h"

#include "callbacks/diagnose/parity_compare.h"
#include "callbacks/diagnose/parity_trace.h"
#include "callbacks/kept_batches.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/find/memory_state.h"
#include "framework/learner/learner.h"
#include "framework/learner/precision_state.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

namespace learn::callbacks {
namespace {

/// Limit on the batches of one step with accumulated gradients; no training has more.
constexpr std::int64_t kBatchesOfStep = 1 << 12;

/// Ends the training at its first update, or after this many skipped steps.
class UntilUpdate final : public Callback {
 public:
  explicit UntilUpdate(std::int64_t limit) : limit_(limit) {}
  [[nodiscard]] std::string_view name() const override { return "until_update"; }
  void train_begin(Learner& learn) override { before_ = learn.optimizer().read_control(); }
  void batch_end(Learner& learn) override {
    const StepControl now = learn.optimizer().read_control();
    found_ = now.step > before_.step;
    skipped_ = now.skipped - before_.skipped;
    if (found_ || skipped_ == limit_) learn.cancel(Scope::train);
  }
  [[nodiscard]] bool found() const noexcept { return found_; }
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }

 private:
  std::int64_t limit_;
  StepControl before_;
  std::int64_t skipped_ = 0;
  bool found_ = false;
};

/// Returns the number of overflows that lower a scale from its first value to the floor, where one
/// more step is made.
std::int64_t steps_to_floor(const PrecisionState& precision) {
  const LossScaleOptions& scaling = precision.scaling;
  const double falls =
      std::log(static_cast<double>(*precision.first_scale) / static_cast<double>(scaling.floor)) /
      -std::log(static_cast<double>(scaling.backoff_factor));
  // Factors near 1 and long intervals would take too long.
  constexpr double kMost = 4096;
  return static_cast<std::int64_t>(
      std::min(kMost, (std::ceil(falls) + 1) * static_cast<double>(scaling.hysteresis)));
}

/// Makes the learner train on other data while alive, then restores its state and data.
class Borrowed {
 public:
  Borrowed(Learner& learn, BatchSource& batches)
      : learn_(learn),
        batches_(batches),
        train_(learn.train_source()),
        valid_(learn.valid_source()) {
    learn.set_data(batches);
    MemorySaver saver(state_);
    learn.visit_state(saver);
  }
  ~Borrowed() {
    go_back();
    learn_.set_data(valid_ != nullptr ? BatchSources(train_, *valid_) : BatchSources(train_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  void go_back() {
    learn_.set_data(batches_);
    MemoryLoader loader(state_);
    learn_.visit_state(loader);
  }

 private:
  Learner& learn_;
  BatchSource& batches_;
  BatchSource& train_;
  BatchSource* valid_;
  MemoryState state_;
};

std::vector<double> masters_of(Learner& learn) {
  const Tensor host = to_host(learn.context(), learn.params().flat_master());
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(host.elements()));
  visit_floating(host.dtype(), [&]<class T>() {
    for (const T value : host.span<T>()) all.push_back(as_double(value));
  });
  return all;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

/// Runs a fit that may end early because nothing can be learned; its steps so far are the result.
void fit_once(Learner& learn, std::int64_t epochs, const FitCallbacks& callbacks) {
  try {
    learn.fit(epochs, learn.options().lr, callbacks);
  } catch (const DivergedError&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

std::vector<StepTrace> trace_fit(Learner& learn,
                                 const ParityOptions& options,
                                 FitCallbacks callbacks) {
  const auto trace = std::make_shared<ParityTrace>(options.steps);
  callbacks.emplace_back(trace);
  fit_once(learn, options.epochs, callbacks);
  return trace->steps();
}

DType half_of(const std::string& precision) {
  return precision.find("bf16") != std::string::npos ? DType::bf16 : DType::f16;
}

void check_ready(Learner& learn, const FitCallback& half, const ParityOptions& options) {
  check<std::logic_error>(learn.progress().activity == Activity::none,
                          "audit_parity cannot be called from a handler ({}): call it before or "
                          "after the fit",
                          learn.current_handler());
  check<UsageError>(
      options.steps >= 1, "audit_parity: {} steps; at least one is needed", options.steps);
  check<UsageError>(
      options.epochs >= 1, "audit_parity: {} epochs; at least one is needed", options.epochs);
  check<UsageError>(half.callback != nullptr && half.callback->precision() != nullptr,
                    "audit_parity compares with the precision that a callback sets, and '{}' sets "
                    "none: give it MixedPrecision, NativeMixedPrecision or PureHalf",
                    half.callback != nullptr ? half.callback->name() : "null");
  const PrecisionState* const present = learn.callbacks().precision();
  check<UsageError>(
      present == nullptr,
      "audit_parity starts from fp32, but the learner trains in {}: call to_fp32 first",
      present != nullptr ? present->name : "fp32");
  check<UsageError>(learn.progress().batch_clock == learn.progress().epoch_first_batch,
                    "audit_parity: the learner was loaded in the middle of an epoch, after {} of "
                    "its batches: finish that first",
                    learn.progress().batch_clock - learn.progress().epoch_first_batch);
}

}  // namespace

ParityAudit audit_parity(Learner& learn, const FitCallback& half, const ParityOptions& options) {
  check_ready(learn, half, options);
  PrecisionState& precision = *half.callback->precision();
  ParityAudit audit{.precision = precision.name, .half = half_of(precision.name)};
  audit.lr = static_cast<double>(learn.options().lr.spread(learn.params().layer_groups()).back());
  Context& ctx = learn.context();
  KeptBatches batches(ctx, learn.train_source(), learn.progress().epoch_clock, options.steps);
  check<UsageError>(batches.batches() > 0, "audit_parity: the training source has no batches");
  Borrowed learner(learn, batches);
  const std::vector<double> before = masters_of(learn);
  const std::vector<StepTrace> full = trace_fit(learn, options, {});
  const std::vector<double> after = masters_of(learn);

  audit.scale_moves = precision.first_scale && precision.scaling.dynamic;
  if (audit.scale_moves) {
    learner.go_back();
    const std::int64_t limit = steps_to_floor(precision);
    KeptBatches first(batches, limit * kBatchesOfStep);
    learn.set_data(first);
    const auto warm_up = std::make_shared<UntilUpdate>(limit);
    fit_once(learn, 1, {half, warm_up});
    audit.warm_up = warm_up->skipped();
    audit.scale_found = warm_up->found();
  }
  const float scale = learn.optimizer().read_control().loss_scale;
  learner.go_back();
  precision.scale_set = audit.scale_found;
  if (precision.scale_set) kernels::set_loss_scale(ctx, scale, learn.optimizer().control());
  const std::vector<StepTrace> halves = trace_fit(learn, options, {half});

  std::vector<ParityParam> params;
  for (std::int64_t i = 0; i < learn.params().size(); ++i)
    params.push_back({learn.params().info(i).name, learn.params().info(i).keeps_f32});
  for (std::size_t i = 0; i < full.size(); ++i)
    audit.steps.push_back(
        compare_steps(full[i], i < halves.size() ? halves[i] : StepTrace(), audit.half, params));
  if (const double way = distance(after, before); way > 0)
    audit.departure = distance(after, masters_of(learn)) / way;
  audit.findings = find_problems(audit);
  return audit;
}

}  // namespace learn::callbacks
