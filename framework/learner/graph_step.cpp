#include "framework/learner/graph_step.h"

#include "framework/backend/cast.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <utility>

namespace learn {

GraphStep::GraphStep(Context& ctx, GraphStepCounts& counts, std::int64_t warm_up)
    : ctx_(ctx), counts_(counts), warm_up_(warm_up), arena_(ctx.make_step_arena("graph")) {
  check<DeviceError>(
      ctx.device().is_cuda(), "a step is a graph on a CUDA device only, not on {}", ctx.device());
}

void GraphStep::run(Learner& learn, FunctionRef<void()> body) {
  forget_if_changed(learn);
  // Gradients that are held, and observers of the forward pass, need the host in each batch.
  const bool plain = !learn.state().gradients_held && learn.tape().observer() == nullptr;
  Kind* const kind = plain && !given_up_ ? kind_of(learn.state().batch) : nullptr;
  if (kind == nullptr) {
    ++counts_.eager;
    return body();
  }
  learn.optimizer().prepare();
  learn.tape().announce_batch(static_cast<std::uint64_t>(learn.state().batch_clock));
  if (kind->work.has_value())
    replay(*kind, learn);
  else if (kind->warm_ups < warm_up_)
    run_eagerly(*kind, learn, body);
  else
    capture(*kind, learn, body);
  hand_over(learn);
}

GraphStep::Place GraphStep::place_of(const Tensor& operand) {
  if (!operand.defined()) return {};
  return {operand.raw(), operand.shape(), operand.dtype()};
}

GraphStep::Kind* GraphStep::kind_of(const Batch& batch) {
  const Place x = place_of(batch.x);
  const Place y = place_of(batch.y);
  for (Kind& kind : kinds_)
    if (kind.x == x && kind.y == y) return &kind;
  if (kinds_.size() == kMostGraphs) {
    give_up("batches come at too many addresses or in too many shapes");
    return nullptr;
  }
  kinds_.push_back({.x = x, .y = y});
  return &kinds_.back();
}

void GraphStep::forget_if_changed(const Learner& learn) {
  std::vector<double> options = learn.captured_options();
  if (options == options_) return;
  options_ = std::move(options);
  kinds_.clear();
}

void GraphStep::run_eagerly(Kind& kind, Learner& learn, FunctionRef<void()> body) {
  const StepArenaScope scope(ctx_, *arena_);
  ++counts_.eager;
  body();
  if (learn.stepped()) ++kind.warm_ups;
}

void GraphStep::capture(Kind& kind, Learner& learn, FunctionRef<void()> body) {
  const StepArenaScope scope(ctx_, *arena_);
  arena_->freeze();
  try {
    kind.work.emplace(ctx_, body);
    arena_->thaw();
    kind.work->launch();
  } catch (const Error& error) {
    arena_->thaw();
    // Who was running when it threw is still known.
    give_up(fmt::format(
        "something in it ({}) waits for the device or reserves memory, or the driver refuses "
        "its graph: {}",
        learn.asking(),
        error.what()));
    ++counts_.eager;
    return body();
  } catch (...) {
    arena_->thaw();
    throw;
  }
  ++counts_.captured;
  counts_.operations = kind.work->operations();
  counts_.memory = arena_->stats().peak;
  if (!learn.stepped()) {
    kind.work.reset();
    return give_up("a callback that says it only enqueues work kept a batch from its step");
  }
  kind.pred = learn.state().pred.value();
  kind.loss = learn.state().loss.value();
}

void GraphStep::replay(const Kind& kind, Learner& learn) {
  kind.work->launch();
  learn.adopt_step(kind.pred, kind.loss);
  ++counts_.replayed;
}

void GraphStep::hand_over(Learner& learn) {
  for (Var* result : {&learn.state().pred, &learn.state().loss}) {
    if (!result->defined()) continue;  // of a batch that was cancelled
    const Tensor& value = result->value();
    Tensor copied = ctx_.empty(value.shape(), value.dtype());
    backend::copy(ctx_, value, copied);
    *result = learn.tape().input(copied);
  }
}

void GraphStep::give_up(std::string_view why) {
  given_up_ = true;
  kinds_.clear();
  log::warn("[cuda_graph] the training step is not captured: {}", why);
}

}  // namespace learn
