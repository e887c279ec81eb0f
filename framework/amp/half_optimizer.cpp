#include "framework/amp/half_optimizer.h"

#include "framework/autograd/tape.h"
#include "framework/optim/gradients.h"

namespace learn::amp {
namespace {

GradScalerOptions scaler_options(const HalfOptimizerOptions& o) {
  GradScalerOptions options{.init_scale = o.dynamic_loss_scale ? o.init_scale : o.static_loss_scale,
                            .scaling = o.scaling};
  options.scaling.dynamic = o.dynamic_loss_scale;
  return options;
}

}  // namespace

HalfOptimizer::HalfOptimizer(optim::Optimizer& optimizer, const HalfOptimizerOptions& options)
    : optimizer_(optimizer), scaler_(optimizer.store().context(), scaler_options(options)) {
  check<DTypeError>(
      is_half(options.dtype), "a HalfOptimizer must be in f16 or bf16, not {}", options.dtype);
  optimizer.store().set_working_dtype(options.dtype);
}

void HalfOptimizer::backward(const Var& loss, bool update_master_grads) {
  loss.tape().backward(scaler_.scale(loss));
  if (update_master_grads) this->update_master_grads();
}

float HalfOptimizer::clip_master_grads(float max_norm) {
  check<Error>(
      scaler_.is_unscaled(optimizer_),
      "clip_master_grads is called before there are master gradients: call backward first");
  Context& ctx = optimizer_.store().context();
  Tensor norm = ctx.empty({1}, DType::f32);
  optim::clip_gradient_norm(optimizer_.store(), max_norm, norm, optimizer_.control());
  return read_overflow() ? -1.0F : norm.item<float>();
}

void HalfOptimizer::step() {
  scaler_.step(optimizer_);
  scaler_.update();
}

bool HalfOptimizer::read_overflow() const {
  return scaler_.is_unscaled(optimizer_) && optimizer_.read_control().found_inf != 0;
}

void HalfOptimizer::visit_state(StateVisitor& visitor) {
  {
    const StateVisitor::Scope scope(visitor, "scaler");
    scaler_.visit_state(visitor);
  }
  {
    const StateVisitor::Scope scope(visitor, "optimizer");
    optimizer_.visit_state(visitor);
  }
  optimizer_.store().visit_state(visitor);
}

}  // namespace learn::amp
