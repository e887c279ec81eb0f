#pragma once
#include "framework/autograd/var.h"
#include "framework/interfaces/batch.h"

#include <cstdint>

namespace learn {

class Callback;

/// What becomes of a training batch. Until its update is made a later one replaces an earlier one
/// in this order: deferred, skipped, cancelled.
///
/// The device looks for gradients that are not finite and leaves out the update, without asking the
/// host: `PassResults::skipped_steps` and `StepControl::skipped` count these, and
/// `Learner::step_applied` asks.
enum class Outcome : std::uint8_t {
  pending,    ///< not decided yet
  stepped,    ///< the update was made, unless a gradient was not finite: see below
  skipped,    ///< no update, and nothing of the batch stays
  deferred,   ///< no update; the gradients are held for the next batch
  cancelled,  ///< its scope, or one around it, ended before the update: nothing stays, not its loss
};

/// A batch on its way through the loop, made anew for each: what it holds, what was computed from
/// it, and what became of it. Handlers replace members through `Learner::set_x` and its like.
struct BatchRun : Batch {
  Var pred;       ///< undefined until loss_begin
  Var loss;       ///< as recorded, never scaled; undefined until backward_begin
  Tensor weight;  ///< of the loss, see nn::Loss: one f32 element; undefined: the number of samples
  Tensor seed;  ///< gradient of the loss for the backward pass: one device element; undefined is 1
  Outcome outcome = Outcome::pending;
  const Callback* seed_set_by = nullptr;  ///< the first to set the seed
  const Callback* unscaled_by = nullptr;  ///< who took the seed out of the gradients again
};

}  // namespace learn
