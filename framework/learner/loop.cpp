// The loop, as described in event.h. Preparation, counting and cleanup around it are in
// bookkeeping.cpp, events and scopes in events.cpp.
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"

#include <stdexcept>

namespace learn {

void Learner::train(std::int64_t epochs) {
  const std::vector<GroupHypers> resumed = begin_fit(epochs);
  run(Scope::train, [&] {
    optimizer_->set_all_hypers(resumed);
    check_smallest_batch(state_.training_mode);
    for (; state_.progress.epoch < epochs && !cancelled(); ++state_.progress.epoch)
      run(Scope::epoch, [&] { train_epoch(); });
  });
}

void Learner::train_epoch() {
  if (begin_train_pass()) {
    for (; next_batch(train_source()); ++state_.progress.batch_in_pass)
      run(Scope::batch, [&] { runner_->run(*this, [&] { return train_batch(); }); });
    end_train_pass();
  }
  if (!cancelled() && state_.data.valid != nullptr) validate_epoch(*state_.data.valid);
}

bool Learner::train_batch() {
  begin_attempt();
  batch_.pred = forward(state_.training_mode);
  emit(Event::loss_begin);
  if (cancelled()) return false;
  compute_loss();
  emit(Event::backward_begin);
  if (cancelled()) return false;
  backward();
  emit(Event::backward_end);
  if (cancelled() || batch_.outcome != Outcome::pending) return false;
  update_weight_.divide(params());
  run(Scope::step, [&] { step(); });
  return !cancelled() && batch_.outcome == Outcome::stepped;
}

void Learner::step() {
  check<std::logic_error>(
      seeded_by_.empty(),
      "'{}' set a gradient seed but did not unscale: the optimizer would step with scaled "
      "gradients. Unscale them at backward_end and call grads_unscaled() there",
      seeded_by_.empty() ? "" : seeded_by_.front()->name());
  optimizer_->step();
  batch_.outcome = Outcome::stepped;
  if (ctx_.device().is_cpu()) sync_step_clock();
}

void Learner::evaluate(BatchSource& source,
                       FunctionRef<void()> each_batch,
                       FunctionRef<void()> at_end) {
  state_.progress.begin_pass(false, source.batches());
  state_.valid_losses.begin(source.batches());
  run(Scope::validate, [&] {
    params().refresh_working();  // a handler may have written masters
    begin_pass_of(source, 0);
    for (; next_batch(source); ++state_.progress.batch_in_pass)
      run(Scope::batch, [&] { evaluate_batch(each_batch); });
    at_end();
  });
}

void Learner::evaluate_batch(FunctionRef<void()> each_batch) {
  batch_.pred = forward(ForwardMode::eval);
  emit(Event::loss_begin);
  if (cancelled()) return;
  if (batch_.y.defined()) {
    compute_loss();
    if (Exchange* const ranks = exchange()) {
      ranks->agree(state_.progress, batch_, params());
      take_totals();
    }
    state_.valid_losses.add(ctx_, batch_);
  }
  each_batch();
}

}  // namespace learn
