#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/optim.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/nn/param_store.h"
#include "framework/optim/learning_rates.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace learn::optim {

/// How weight decay acts.
enum class WeightDecay : std::uint8_t {
  decoupled,  ///< w -= lr * wd * w in addition to the update ("true" weight decay, AdamW)
  coupled,    ///< g += wd * w before it (L2)
};

/// Options that all optimizers share. The struct of each optimizer repeats them under the same
/// names, so that all of its options can be named in one initializer.
struct OptimizerOptions {
  double lr = 1e-3;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::decoupled;
  /// Decay BatchNorm parameters and biases too (fastai's wd_bn_bias, default off).
  bool decay_bn_bias = false;
  /// Factor of the learning rate of BatchNorm parameters and biases. Their weight decay is divided
  /// by it, so that an update subtracts the same share of them.
  double bn_bias_lr = 1;
  /// One pass over each run of a group's flat buffer (true) or one per parameter (false). The
  /// results have the same bits, as a test checks.
  bool flat = true;
};

/// The shared options out of an optimizer's own.
template <class Options>
[[nodiscard]] OptimizerOptions common_options(const Options& o) {
  return {o.lr, o.weight_decay, o.decay, o.decay_bn_bias, o.bn_bias_lr, o.flat};
}

/// Updates the masters of a store from their gradients, group by group, in f32 arithmetic.
/// Everything that changes from step to step is read from device memory: hyper-parameters per group
/// and the StepControl.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Enqueues one update: nothing is changed if `control.found_inf`; otherwise gradients times
  /// `control.grad_multiplier`, decay, update of masters and state, and for half parameters the
  /// rounded copy in the model. Frozen parameters and their state are left alone. Then the step
  /// ends as `kernels::end_step` says: it is counted, the store's running statistics are committed
  /// or restored, and the loss scale is updated as `set_loss_scaling` said.
  void step();
  /// The host's part of a step: sends changed hyper-parameters and notes frozen parameters. `step`
  /// calls it first; a captured step needs it before each replay.
  void prepare();

  /// Hyper-parameters of parameter group `g` of `store().groups()`; changes take effect at the next
  /// step. Throws UsageError for a group that is not there, a value that is negative or not finite,
  /// or eps 0, which would make NaN of the gaps in the flat buffers.
  [[nodiscard]] const GroupHypers& hypers(int group) const;
  void set_hypers(int group, const GroupHypers& changed);
  /// The hyper-parameters of all parameter groups.
  [[nodiscard]] const std::vector<GroupHypers>& all_hypers() const noexcept { return hypers_; }
  void set_all_hypers(const std::vector<GroupHypers>& changed);
  /// Hyper-parameters that the next update of a parameter group uses: with `lr_factor` and
  /// `bn_bias_lr` in them.
  [[nodiscard]] GroupHypers used_hypers(int group) const;
  /// Learning rate of a layer group, for both of its parameter groups.
  void set_lr(int layer_group, float lr);
  /// Sets the rates of all groups. Throws UsageError like `LearningRates::spread`.
  void set_lrs(const LearningRates& lrs);
  /// The one that the next update of its weights uses.
  [[nodiscard]] float lr(int layer_group) const {
    return used_hypers(nn::index_of({layer_group, true})).lr;
  }
  /// A factor of all learning rates, in addition to schedules; initially 1, and part of the state.
  /// Throws UsageError unless it is in (0,1].
  void set_lr_factor(float factor);
  [[nodiscard]] float lr_factor() const noexcept { return lr_factor_; }
  /// Momentum (SGD, RMSProp) or beta1 (Adam) of all groups.
  void set_momentum(float momentum);
  void set_weight_decay(float weight_decay);
  /// How the loss scale moves at the end of each step. At first it is static.
  void set_loss_scaling(const LossScaleOptions& scaling) noexcept { scaling_ = scaling; }
  [[nodiscard]] const LossScaleOptions& loss_scaling() const noexcept { return scaling_; }
  /// Values that `step` passes to the device by value: a captured step keeps them. Hyper-parameters
  /// are not among them.
  [[nodiscard]] std::vector<double> captured_options() const;
  /// Call it after the store's layer groups have changed: each new group takes the last one's
  /// values.
  void groups_changed();

  [[nodiscard]] nn::ParamStore& store() const noexcept { return store_; }
  [[nodiscard]] const OptimizerOptions& options() const noexcept { return options_; }
  /// Changes `options().flat`. The results stay the same bits.
  void set_flat(bool flat) noexcept { options_.flat = flat; }
  /// The control block of the step, in device memory.
  [[nodiscard]] DeviceArray<StepControl>& control() noexcept { return control_; }
  /// The loss scale in it as one f32 element, the seed of a backward pass; not to be written to.
  [[nodiscard]] Tensor loss_scale() const { return control_.member(&StepControl::loss_scale); }
  /// Reads the control block on the host; waits for the device.
  [[nodiscard]] StepControl read_control() const;
  void write_control(const StepControl& control);

  /// Hyper-parameters and counters; moments are in the store's states.
  virtual void visit_state(StateVisitor& visitor);

 protected:
  /// Throws DTypeError if the store's masters are f64. `defaults.weight_decay` and `.lr` are
  /// taken from `options`.
  Optimizer(nn::ParamStore& store, const OptimizerOptions& options, GroupHypers defaults);
  /// Updates one segment of a group's flat buffers: elements [segment.begin, +count).
  virtual void update(int group,
                      const nn::Segment& segment,
                      const kernels::OptimTensors& tensors) = 0;

 private:
  struct Update;
  [[nodiscard]] std::vector<Update> updates(int group, bool half) const;
  void note_freezing();
  void upload_hypers();

  nn::ParamStore& store_;
  OptimizerOptions options_;
  std::vector<GroupHypers> hypers_;
  float lr_factor_ = 1;
  bool hypers_changed_ = true;
  // Per parameter: updates it missed while frozen, and the step at which it was frozen (-1: it is
  // trained).
  std::vector<std::int64_t> missed_steps_, frozen_at_;
  DeviceArray<GroupHypers> device_hypers_;
  LossScaleOptions scaling_{.dynamic = false};
  DeviceArray<StepControl> control_;
};

/// Makes an optimizer for a store; what a Learner is given.
using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(nn::ParamStore&)>;

}  // namespace learn::optim
