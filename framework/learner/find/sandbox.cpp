#include "framework/learner/find/sandbox.h"

#include "framework/core/log.h"
#include "framework/runtime/transfer.h"

#include <algorithm>
#include <utility>

namespace learn {

Sandbox::Sandbox(Learner& learn)
    : learn_(learn),
      beside_{.data = learn.data_,
              .progress = learn.progress_,
              .results = learn.results_,
              .losses = {},
              .valid_losses = {},
              .joined_states = {},
              .fit_hypers = learn.fit_hypers_,
              .resumed_hypers = learn.resumed_hypers_,
              .hypers = learn.optimizer().all_hypers(),
              .pass_continues = learn.pass_continues_,
              .skipped_before = learn.skipped_before_,
              .autocast = learn.autocast_,
              .training_mode = learn.training_mode_,
              .control = learn.optimizer().read_control(),
              .scaling = learn.optimizer().loss_scaling()} {
  learn_.require_idle("a sandbox");
  MemorySaver saver(state_);
  learn_.visit_state(saver);
  for (Tensor* const array : arrays())
    arrays_.push_back(array->defined() ? to_host(learn_.context(), *array) : Tensor());
  nn::ParamStore& params = learn_.params();
  for (const auto& [name, state] : params.states()) states_.push_back(name);
  for (std::int64_t i = 0; i < params.size(); ++i)
    slots_.push_back({params.slot(i).trainable, params.slot(i).has_grad()});
  // The meters' memory is put aside: a pass that is under way has its losses there.
  beside_.losses = std::exchange(learn_.losses_, {});
  beside_.valid_losses = std::exchange(learn_.valid_losses_, {});
  // A fit that goes on later has these; one in between would drop them.
  beside_.joined_states = std::exchange(learn_.joined_states_, {});
  learn_.resumed_hypers_.clear();
  silent_ = learn_.callbacks_.enter_sandbox();
}

Sandbox::~Sandbox() {
  try {
    restore();
  } catch (const std::exception& error) {
    log::error("[sandbox] the state from before could not be put back: {}", error.what());
  }
}

void Sandbox::restore() {
  if (!open_) return;
  learn_.require_idle("restore");
  open_ = false;
  learn_.callbacks_.leave_sandbox(silent_);
  if (learn_.data_.train != beside_.data.train || learn_.data_.valid != beside_.data.valid)
    learn_.set_data(beside_.data);  // a captured step reads the other's batches
  restore_store();
  restore_beside();
}

/// What a checkpoint does not have of the store, or has in another precision.
std::vector<Tensor*> Sandbox::arrays() const {
  nn::ParamStore& params = learn_.params();
  return {&params.flat_master(),
          &params.flat_grad(),
          &params.flat_half(),
          &params.flat_half_grad(),
          &params.flat_buffers(),
          &params.flat_committed_buffers()};
}

void Sandbox::restore_store() {
  nn::ParamStore& params = learn_.params();
  std::erase_if(params.states(), [&](const auto& state) {
    return std::find(states_.begin(), states_.end(), state.first) == states_.end();
  });
  // Steps that a frozen parameter missed are noted against the clock: that is loaded first.
  for (std::size_t i = 0; i < slots_.size(); ++i)
    params.slot(static_cast<std::int64_t>(i)).trainable = slots_[i].trainable;
  MemoryLoader loader(state_);
  learn_.visit_state(loader);
  // A fit in pure halves leaves arrays of its own.
  const std::vector<Tensor*> now = arrays();
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!arrays_[i].defined()) continue;
    const Tensor there = to_device(learn_.context(), learn_.context().step(), arrays_[i]);
    copy(learn_.context(), there, *now[i]);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    ParamSlot& slot = params.slot(static_cast<std::int64_t>(i));
    slots_[i].has_grad ? slot.adopt_grad() : slot.drop_grad();
  }
}

void Sandbox::restore_beside() {
  optim::Optimizer& optimizer = learn_.optimizer();
  optimizer.set_all_hypers(beside_.hypers);
  optimizer.set_loss_scaling(beside_.scaling);
  optimizer.write_control(beside_.control);
  learn_.progress_ = beside_.progress;
  learn_.results_ = beside_.results;
  learn_.losses_ = std::move(beside_.losses);
  learn_.valid_losses_ = std::move(beside_.valid_losses);
  learn_.joined_states_ = beside_.joined_states;
  learn_.fit_hypers_ = beside_.fit_hypers;
  learn_.resumed_hypers_ = beside_.resumed_hypers;
  learn_.pass_continues_ = beside_.pass_continues;
  learn_.skipped_before_ = beside_.skipped_before;
  learn_.set_autocast(beside_.autocast);
  if (learn_.training_mode_ != beside_.training_mode)
    learn_.set_training_mode(beside_.training_mode);
  // `place_loaded_` stays set by the loading: the source has its place back, and a new fit that
  // does not go on there uses it up.
}

}  // namespace learn
