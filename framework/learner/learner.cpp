#include "framework/learner/learner.h"

#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/sgd.h"

#include <utility>

namespace learn {
namespace {

/// Many a net takes images of any size, and would validate on others than it is trained on.
void check_sample_shapes(const BatchSources& data) {
  if (data.valid == nullptr) return;
  const Shape train = data.train->sample_shape();
  const Shape valid = data.valid->sample_shape();
  if (train.rank() == 0 || valid.rank() == 0 || train == valid) return;
  fail<DataError>(
      "training samples are {}, but validation samples are {}: both must have the same shape",
      train,
      valid);
}

}  // namespace

Learner::Learner(Context& ctx, Model model, BatchSources data, LearnerOptions options)
    : ctx_(ctx),
      model_(std::move(model)),
      options_(std::move(options)),
      tape_(ctx),
      runner_(std::make_unique<EagerStep>()),
      state_{.data = data} {
  check<UsageError>(model_.params != nullptr && model_.module != nullptr,
                    "the learner's model has no parameters or no module");
  if (model_.classes > 0)
    for (const Metric& metric : options_.metrics) metric.check_classes(model_.classes);
  check_sample_shapes(state_.data);
  if (!model_.params->materialized()) model_.params->materialize(ctx_);
  if (!options_.optimizer) options_.optimizer = optim::sgd({.momentum = 0.9F});
  optimizer_ = options_.optimizer(params());
  if (options_.report != Report::off) add<Recorder>();
  if (options_.report == Report::progress) add<Progress>();
}

Learner::~Learner() = default;

void Learner::set_data(BatchSources data) {
  require_idle("set_data");
  check_sample_shapes(data);
  state_.data = data;
  state_.next = {};
  step_changed();
}

Model Learner::take_model() && {
  require_idle("take_model");
  model_.params->drop_states();
  return std::move(model_);
}

void Learner::insert(std::unique_ptr<Callback> callback, EventSet events) {
  require_idle("add");
  Callback& added = callbacks_.insert(std::move(callback), events);
  try {
    added.attached(*this);
  } catch (...) {
    callbacks_.remove(added);
    throw;
  }
}

void Learner::remove(const Callback& callback) {
  require_idle("remove");
  callbacks_.remove(callback);
}

void Learner::split(const std::vector<std::string>& boundaries) {
  require_idle("split");
  params().set_layer_groups(boundaries);
  optimizer_->groups_changed();
}

void Learner::keep_f32(const std::vector<std::string>& modules) {
  require_idle("keep_f32");
  params().keep_f32(modules);
  step_changed();
}

void Learner::set_autocast(const std::optional<DType>& dtype) {
  Tape::check_autocast(dtype);
  if (dtype != state_.autocast) step_changed();
  state_.autocast = dtype;
}

void Learner::freeze_to(int layer_group, bool train_bn) {
  require_idle("freeze_to");
  params().freeze_to(layer_group, train_bn);
}

void Learner::set_training_mode(ForwardMode mode) {
  check<UsageError>(mode != ForwardMode::eval,
                    "set_training_mode: training in eval mode is not possible");
  state_.training_mode = mode;
  step_changed();
}

std::vector<double> Learner::captured_options() const {
  std::vector<double> options{static_cast<double>(step_changes_)};
  for (std::int64_t i = 0; i < params().size(); ++i)
    options.push_back(params().slot(i).trainable ? 1 : 0);
  const std::vector<double> own = optimizer().captured_options();
  options.insert(options.end(), own.begin(), own.end());
  callbacks_.append_captured_options(options);
  return options;
}

std::vector<std::string> Learner::metric_names() const {
  std::vector<std::string> names;
  if (options_.train_metrics)
    for (const Metric& metric : options_.metrics) names.push_back("train_" + metric.name);
  for (const Metric& metric : options_.metrics) names.push_back(metric.name);
  callbacks_.append_metrics(names);
  return names;
}

LearnerState LearnerState::without_fit() const {
  LearnerState state{.data = data};
  state.progress = progress;
  state.results = results;
  state.fit_hypers = fit_hypers;
  state.next.place_loaded = next.place_loaded;  // in the source, for the next training
  state.autocast = autocast;
  state.training_mode = training_mode;
  return state;
}

LearnerState Learner::enter_sandbox() {
  require_idle("a sandbox");
  callbacks_.enter_sandbox();
  return std::exchange(state_, state_.without_fit());
}

void Learner::leave_sandbox(LearnerState before) {
  require_idle("the end of a sandbox");
  callbacks_.leave_sandbox();
  if (before.data != state_.data || before.autocast != state_.autocast ||
      before.training_mode != state_.training_mode)
    step_changed();
  state_ = std::move(before);
}

void Learner::set_step_runner(std::unique_ptr<StepRunner> runner) {
  check<UsageError>(runner != nullptr, "set_step_runner: null");
  runner_ = std::move(runner);
}

}  // namespace learn
