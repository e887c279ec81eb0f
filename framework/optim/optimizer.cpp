#include "framework/optim/optimizer.h"

#include "framework/kernels/cast/fill.h"
#include "framework/kernels/step/step.h"
#include "framework/optim/control_state.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace learn::optim {
namespace {

void check_hypers(const GroupHypers& h) {
  struct Named {
    const char* name;
    float value;
  };
  for (const Named& one : {Named{"learning rate", h.lr},
                           {"momentum (beta1)", h.momentum},
                           {"dampening", h.dampening},
                           {"beta2 (alpha)", h.beta2},
                           {"eps", h.eps},
                           {"weight decay", h.weight_decay}})
    if (!std::isfinite(one.value) || one.value < 0)
      fail<UsageError>("{} must be finite and not negative, not {}", one.name, one.value);
  if (h.momentum >= 1 || h.beta2 >= 1)
    fail<UsageError>(
        "momentum (beta1) {} and beta2 (alpha) {} must be below 1", h.momentum, h.beta2);
  if (h.eps == 0) fail<UsageError>("eps must be positive, not 0");
}

void visit_integers(StateVisitor& visitor,
                    std::string_view name,
                    std::vector<std::int64_t>& values,
                    const IntegerLimits& limits) {
  Tensor table = host_tensor<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
  visitor.visit(name, table);
  const auto visited = table.span<std::int64_t>();
  for (const std::int64_t value : visited) visitor.check_loaded(name, value, limits);
  values.assign(visited.begin(), visited.end());
}

constexpr double kLargest = static_cast<double>(std::numeric_limits<float>::max());
constexpr double kSmallest = static_cast<double>(std::numeric_limits<float>::denorm_min());
constexpr RealLimits kNotNegativeFloat{.high = kLargest};
constexpr RealLimits kPositiveFloat{.low = kSmallest, .high = kLargest};
constexpr RealLimits kBelowOne{.high = 1 - 0x1p-24};  // the largest f32 that is

}  // namespace

/// A segment whose parameters have missed the same number of steps.
struct Optimizer::Update {
  nn::Segment segment;
  std::int64_t missed_steps;
};

Optimizer::Optimizer(nn::ParamStore& store, const OptimizerOptions& options, GroupHypers defaults)
    : store_(store), options_(options) {
  Context& ctx = store.context();
  check<DTypeError>(store.master_dtype() != DType::f64,
                    "optimizers update f32 masters, this store was materialized as f64");
  check<UsageError>(options.bn_bias_lr > 0,
                    "bn_bias_lr, a factor of the learning rate, must be above 0, not {}",
                    options.bn_bias_lr);
  defaults.lr = static_cast<float>(options.lr);
  defaults.weight_decay = static_cast<float>(options.weight_decay);
  check_hypers(defaults);
  hypers_.assign(2, defaults);
  if (!options.decay_bn_bias) hypers_[1].weight_decay = 0;
  const auto params = static_cast<std::size_t>(store.size());
  missed_steps_.assign(params, 0);
  frozen_at_.assign(params, -1);
  control_ = DeviceArray<StepControl>(ctx.persistent());
  write_control({});
  groups_changed();
}

void Optimizer::groups_changed() {
  const auto groups = static_cast<std::size_t>(store_.groups());
  while (hypers_.size() > groups) hypers_.pop_back();
  while (hypers_.size() < groups) {
    const GroupHypers weights = hypers_[hypers_.size() - 2];
    const GroupHypers rest = hypers_.back();
    hypers_.push_back(weights);
    hypers_.push_back(rest);
  }
  device_hypers_ =
      DeviceArray<GroupHypers>(store_.context().persistent(), static_cast<std::int64_t>(groups));
  hypers_changed_ = true;
}

void Optimizer::upload_hypers() {
  if (!hypers_changed_) return;
  std::vector<GroupHypers> used;
  for (int group = 0; group < store_.groups(); ++group) used.push_back(used_hypers(group));
  kernels::write_hypers(store_.context(), used, device_hypers_);
  hypers_changed_ = false;
}

/// Counts the updates that frozen parameters miss. Reads the step number, which waits for the
/// device, only when something was frozen or unfrozen.
void Optimizer::note_freezing() {
  std::int64_t step = -1;
  for (std::int64_t i = 0; i < store_.size(); ++i) {
    std::int64_t& frozen_at = frozen_at_[static_cast<std::size_t>(i)];
    if (store_.slot(i).trainable == (frozen_at < 0)) continue;
    if (step < 0) step = read_control().step;
    if (frozen_at >= 0) missed_steps_[static_cast<std::size_t>(i)] += step - frozen_at;
    frozen_at = frozen_at < 0 ? step : -1;
  }
}

std::vector<Optimizer::Update> Optimizer::updates(int group, bool half) const {
  const std::vector<nn::Segment> params =
      half ? store_.half_segments(group, true) : store_.full_segments(group, true);
  std::vector<Update> found;
  for (const nn::Segment& next : params) {
    const std::int64_t missed = missed_steps_[static_cast<std::size_t>(next.first_param)];
    if (options_.flat && !found.empty() && found.back().missed_steps == missed &&
        found.back().segment.begin + found.back().segment.count == next.begin)
      found.back().segment.count += next.count;
    else
      found.push_back({next, missed});
  }
  return found;
}

std::vector<double> Optimizer::captured_options() const {
  return {scaling_.dynamic ? 1.0 : 0.0,
          static_cast<double>(scaling_.growth_factor),
          static_cast<double>(scaling_.backoff_factor),
          static_cast<double>(scaling_.growth_interval),
          static_cast<double>(scaling_.hysteresis),
          static_cast<double>(scaling_.floor),
          static_cast<double>(scaling_.ceiling),
          options_.flat ? 1.0 : 0.0};
}

void Optimizer::prepare() {
  note_freezing();
  upload_hypers();
}

void Optimizer::step() {
  prepare();
  for (int group = 0; group < store_.groups(); ++group)
    for (const bool half : {false, true})
      for (const Update& next : updates(group, half)) {
        const auto [begin, count, param] = next.segment;
        update(group,
               next.segment,
               {.weight = store_.flat_master().range(begin, count),
                .grad = store_.flat_grad().range(begin, count),
                .half = half ? store_.flat_half().range(begin, count) : Tensor(),
                .hypers = device_hypers_.at(group),
                .control = control_,
                .missed_steps = next.missed_steps,
                .decoupled_decay = options_.decay == WeightDecay::decoupled});
      }
  kernels::end_step(
      store_.context(), store_.flat_buffers(), store_.flat_committed_buffers(), scaling_, control_);
}

const GroupHypers& Optimizer::hypers(int group) const {
  check<UsageError>(group >= 0 && group < static_cast<int>(hypers_.size()),
                    "parameter group {} does not exist: there are {}",
                    group,
                    hypers_.size());
  return hypers_[static_cast<std::size_t>(group)];
}

GroupHypers Optimizer::used_hypers(int group) const {
  GroupHypers used = hypers(group);
  used.lr *= lr_factor_;
  if (nn::param_group(group).weights) return used;
  const auto factor = static_cast<float>(options_.bn_bias_lr);
  used.lr *= factor;
  used.weight_decay /= factor;
  return used;
}

void Optimizer::set_hypers(int group, const GroupHypers& changed) {
  check_hypers(changed);
  static_cast<void>(hypers(group));
  hypers_[static_cast<std::size_t>(group)] = changed;
  hypers_changed_ = true;
}

void Optimizer::set_all_hypers(const std::vector<GroupHypers>& changed) {
  for (std::size_t g = 0; g < changed.size(); ++g) set_hypers(static_cast<int>(g), changed[g]);
}

void Optimizer::set_lr(int layer_group, float lr) {
  for (const bool weights : {true, false}) {
    const int group = nn::index_of({layer_group, weights});
    GroupHypers changed = hypers(group);
    changed.lr = lr;
    set_hypers(group, changed);
  }
}

void Optimizer::set_lrs(const LearningRates& lrs) {
  const std::vector<float> each = lrs.spread(store_.layer_groups());
  for (int g = 0; g < store_.layer_groups(); ++g) set_lr(g, each[static_cast<std::size_t>(g)]);
}

void Optimizer::set_lr_factor(float factor) {
  check<UsageError>(
      factor > 0 && factor <= 1, "a factor of the learning rates must be in (0,1], got {}", factor);
  lr_factor_ = factor;
  hypers_changed_ = true;
}

void Optimizer::set_momentum(float momentum) {
  for (int group = 0; group < store_.groups(); ++group) {
    GroupHypers changed = hypers(group);
    changed.momentum = momentum;
    set_hypers(group, changed);
  }
}

void Optimizer::set_weight_decay(float weight_decay) {
  for (int group = 0; group < store_.groups(); ++group) {
    if (!nn::param_group(group).weights && !options_.decay_bn_bias) continue;
    GroupHypers changed = hypers(group);
    changed.weight_decay = weight_decay;
    set_hypers(group, changed);
  }
}

StepControl Optimizer::read_control() const { return control_.read(store_.context()); }

void Optimizer::write_control(const StepControl& control) {
  kernels::write_control(store_.context(), control, control_);
}

void Optimizer::visit_state(StateVisitor& visitor) {
  std::int64_t groups = store_.groups();
  visitor.visit("groups", groups);
  if (groups != store_.groups())
    fail<CheckpointError>(
        "the optimizer was saved with {} layer groups, the model has {}: split it the same way "
        "before loading",
        groups / 2,
        store_.layer_groups());
  for (int group = 0; group < store_.groups(); ++group) {
    const StateVisitor::Scope scope(visitor, "group" + std::to_string(group));
    GroupHypers& h = hypers_[static_cast<std::size_t>(group)];
    visit_real(visitor, "lr", h.lr, kNotNegativeFloat);
    visit_real(visitor, "momentum", h.momentum, kBelowOne);
    visit_real(visitor, "dampening", h.dampening, kNotNegativeFloat);
    visit_real(visitor, "beta2", h.beta2, kBelowOne);
    visit_real(visitor, "eps", h.eps, kPositiveFloat);
    visit_real(visitor, "weight_decay", h.weight_decay, kNotNegativeFloat);
  }
  visit_real(visitor, "lr_factor", lr_factor_, {.low = kSmallest, .high = 1});
  hypers_changed_ = true;
  StepControl control = read_control();
  visit_control(visitor, control);
  if (visitor.loading()) write_control(control);
  visit_integers(visitor, "missed_steps", missed_steps_, {.high = control.step});
  visit_integers(visitor, "frozen_at", frozen_at_, {.low = -1, .high = control.step});
}

}  // namespace learn::optim
