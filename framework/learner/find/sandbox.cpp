#include "framework/learner/find/sandbox.h"

#include "framework/core/log.h"
#include "framework/runtime/transfer.h"

#include <algorithm>
#include <utility>

namespace learn {

Sandbox::Sandbox(Learner& learn)
    : learn_(learn),
      hypers_(learn.optimizer().all_hypers()),
      control_(learn.optimizer().read_control()),
      scaling_(learn.optimizer().loss_scaling()) {
  MemorySaver saver(checkpoint_);
  learn_.visit_state(saver);
  for (Tensor* const array : arrays())
    arrays_.push_back(array->defined() ? to_host(learn_.context(), *array) : Tensor());
  nn::ParamStore& params = learn_.params();
  for (const auto& [name, state] : params.states()) states_.push_back(name);
  for (std::int64_t i = 0; i < params.size(); ++i)
    slots_.push_back({params.slot(i).trainable, params.slot(i).has_grad()});
  state_ = learn_.enter_sandbox();
}

Sandbox::~Sandbox() {
  try {
    restore();
  } catch (const std::exception& error) {
    log::error("[sandbox] the previous state could not be restored: {}", error.what());
  }
}

void Sandbox::restore() {
  if (!state_) return;
  learn_.leave_sandbox(*std::exchange(state_, std::nullopt));
  restore_store();
  optim::Optimizer& optimizer = learn_.optimizer();
  optimizer.set_all_hypers(hypers_);
  optimizer.set_loss_scaling(scaling_);
  optimizer.write_control(control_);
}

/// Parts of the store that a checkpoint lacks, or has in another precision.
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
  MemoryLoader loader(checkpoint_);
  learn_.visit_state(loader);
  // A fit in pure half precision leaves separate arrays.
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

}  // namespace learn
