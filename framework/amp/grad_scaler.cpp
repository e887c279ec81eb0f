#include "framework/amp/grad_scaler.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/optim/control_state.h"
#include "framework/optim/gradients.h"
#include "framework/runtime/transfer.h"

namespace learn::amp {
namespace {

/// Unscaled gradients of losses that had their backward pass, in the order of the flat buffers; all
/// zero between two steps.
constexpr const char* kStash = "stashed_gradients";

/// Parameters that took no part in a backward pass still have the values of an earlier one: sets
/// them to zero.
void complete_gradients(nn::ParamStore& params) {
  bool any = false;
  for (std::int64_t i = 0; i < params.size(); ++i)
    any = any || (params.slot(i).trainable && params.slot(i).has_grad());
  check<Error>(any, "no gradients: run a backward pass before unscale and step");
  optim::zero_missing_gradients(params);
}

/// A value that was not finite there makes the sum not finite.
void add_stashed(optim::Optimizer& optimizer) {
  nn::ParamStore& params = optimizer.store();
  const auto stash = params.states().find(kStash);
  if (stash == params.states().end()) return;
  for (int group = 0; group < params.groups(); ++group)
    for (const nn::Segment& part : params.segments(group)) {
      Tensor grads = params.flat_grad().range(part.begin, part.count);
      kernels::add(
          params.context(), grads, stash->second.values.range(part.begin, part.count), grads);
      kernels::find_non_finite(params.context(), grads, optimizer.control());
    }
  kernels::fill(params.context(), stash->second.values, 0);
}

}  // namespace

GradScaler::GradScaler(Context& ctx, const GradScalerOptions& options)
    : ctx_(ctx), options_(options), control_(ctx.persistent()) {
  kernels::check_loss_scaling(options.scaling, options.init_scale);
  kernels::write_control(ctx_, {}, control_);
  if (options.enabled) set_scale(options.init_scale);
}

void GradScaler::set_scale(float scale) {
  kernels::check_loss_scaling(options_.scaling, scale);
  kernels::set_loss_scale(ctx_, scale, control_);
}

Var GradScaler::scale(const Var& loss) const {
  if (!enabled()) return loss;
  const Var wide = ops::cast(loss, DType::f32);
  const Tensor factor = control_.member(&StepControl::loss_scale).view(wide.shape());
  return ops::mul(wide, wide.tape().input(factor));
}

void GradScaler::unscale(optim::Optimizer& optimizer) {
  Stage& stage = stages_[&optimizer];
  check<Error>(stage != Stage::stepped,
               "unscale is called after step: gradients are unscaled before, once for each update");
  check<Error>(stage != Stage::unscaled,
               "unscale was already called for this optimizer since the last update");
  complete_gradients(optimizer.store());
  kernels::begin_step(ctx_, optimizer.control());
  kernels::share_loss_scale(ctx_, control_, optimizer.control());
  optim::unscale_half_gradients(optimizer.store(), optimizer.control(), GradMode::overwrite);
  if (enabled()) optim::unscale_full_gradients(optimizer.store(), optimizer.control());
  // Before anything is added of another loss, whose overflows are its own scaler's.
  kernels::collect_found_inf(ctx_, optimizer.control(), control_);
  add_stashed(optimizer);
  stage = Stage::unscaled;
}

void GradScaler::stash(optim::Optimizer& optimizer) {
  if (stages_[&optimizer] != Stage::unscaled) unscale(optimizer);
  nn::ParamStore& params = optimizer.store();
  copy(ctx_, params.flat_grad(), params.state(kStash));
  params.begin_gradients();
  stages_[&optimizer] = Stage::stashed;
}

void GradScaler::step(optim::Optimizer& optimizer) {
  const Stage stage = stages_[&optimizer];
  check<Error>(stage != Stage::stepped,
               "step was already called for this optimizer since the last update");
  check<Error>(stage != Stage::stashed,
               "step is called after stash: call step on the scaler of the last loss, which also "
               "unscales the stashed gradients");
  if (stage != Stage::unscaled) unscale(optimizer);
  stages_[&optimizer] = Stage::stepped;
  optimizer.step();
  optimizer.store().begin_gradients();
}

void GradScaler::update(const std::optional<float>& new_scale) {
  check<Error>(
      !stages_.empty(),
      "update is called before gradients were unscaled: call step for each optimizer first");
  stages_.clear();
  if (!enabled()) return;
  Tensor none = ctx_.empty({0}, DType::f32);
  kernels::end_step(ctx_, none, none, options_.scaling, control_);
  if (new_scale) set_scale(*new_scale);
  kernels::begin_step(ctx_, control_);
}

bool GradScaler::is_unscaled(optim::Optimizer& optimizer) const {
  const auto found = stages_.find(&optimizer);
  return found != stages_.end() && found->second == Stage::unscaled;
}

StepControl GradScaler::read_control() const { return control_.read(ctx_); }

void GradScaler::visit_state(StateVisitor& visitor) {
  check<Error>(stages_.empty(),
               "a scaler can be saved and loaded only between two steps: call update first");
  StepControl control = read_control();
  optim::visit_control(visitor, control);
  if (visitor.loading()) kernels::write_control(ctx_, control, control_);
}

}  // namespace learn::amp
