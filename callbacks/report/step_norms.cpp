#include "callbacks/report/step_norms.h"

#include "callbacks/registry.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/step/gradients.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

namespace learn::callbacks {

std::vector<std::string> StepNorms::claims() const { return {"measure the steps"}; }

std::vector<std::string> StepNorms::metrics() const { return {"grad_norm", "update_ratio"}; }

void StepNorms::train_begin(Learner& learn) {
  (void)recorder_of(learn, name());
  Arena& arena = learn.context().persistent();
  change_ = Tensor(arena, {learn.params().flat_size()}, learn.params().master_dtype());
  for (Tensor* const norm : {&grad_, &update_, &weights_})
    if (!norm->defined()) *norm = Tensor(arena, {1}, DType::f32);
}

void StepNorms::step_begin(Learner& learn) {
  optim::gradient_norm(learn.grads(), grad_);
  const Tensor& masters = learn.params().flat_master();
  kernels::l2_norm(learn.context(), {masters}, weights_);
  kernels::scale(learn.context(), masters, -1, change_);
}

void StepNorms::step_end(Learner& learn) {
  if (learn.batch().outcome != Outcome::stepped) return;
  kernels::scale(learn.context(), learn.params().flat_master(), 1, change_, GradMode::accumulate);
  kernels::l2_norm(learn.context(), {change_}, update_);
}

void StepNorms::batch_end(Learner& learn) {
  if (!learn.progress().training || learn.batch().outcome != Outcome::stepped) return;
  recorder_of(learn, name()).note_norms(grad_, update_, weights_);
}

void StepNorms::validate_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) return;
  Recorder& recorder = recorder_of(learn, name());
  learn.add_metric("grad_norm", recorder.mean_grad_norm(learn));
  learn.add_metric("update_ratio", recorder.mean_update_ratio(learn));
}

void StepNorms::train_end(Learner&) { change_ = {}; }

void StepNorms::error(Learner&, const std::exception&) { change_ = {}; }

void register_step_norms(CallbackRegistry& registry) {
  registry.add("step_norms",
               "measures the norm of the gradients and the length of each update",
               [](const RunSettings&) { return make_callback<StepNorms>(Role::reports); });
}

}  // namespace learn::callbacks
