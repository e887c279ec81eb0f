#include "framework/learner/graph_step.h"

#include "framework/core/log.h"
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <fmt/core.h>

#include <utility>

namespace learn {

GraphStep::GraphStep(Context& ctx, GraphStepCounts& counts, std::int64_t warm_up)
    : ctx_(ctx), counts_(counts), warm_up_(warm_up), arena_(ctx.make_step_arena("graph")) {
  check<DeviceError>(ctx.device().is_cuda(),
                     "a step can be captured only on a CUDA device, not on {}",
                     ctx.device());
}

void GraphStep::run(Learner& learn, FunctionRef<bool()> body) {
  forget_if_changed(learn);
  // Gradients that are held, and observers of a pass, need the host in each batch.
  const bool plain = !learn.progress().gradients_held && learn.tape().observer() == nullptr &&
                     learn.tape().backward_observer() == nullptr;
  Kind* const kind = plain && !eager_only_ ? kind_of(learn.batch()) : nullptr;
  if (kind == nullptr) {
    ++counts_.eager;
    (void)body();
    return;
  }
  learn.optimizer().prepare();
  learn.tape().set_batch_index(static_cast<std::uint64_t>(learn.progress().batch_clock));
  if (kind->work.has_value()) return replay(*kind, learn);
  if (kind->warm_ups < warm_up_)
    run_eagerly(*kind, body);
  else
    capture(*kind, learn, body);
  const auto value_of = [](const Var& v) { return v.defined() ? v.value() : Tensor{}; };
  const BatchRun& batch = learn.batch();
  hand_over(learn, value_of(batch.pred), value_of(batch.loss), batch.weight, batch.outcome);
}

GraphStep::Place GraphStep::place_of(const Tensor& operand) {
  if (!operand.defined()) return {};
  return {operand.raw(), operand.shape(), operand.dtype()};
}

GraphStep::Kind* GraphStep::kind_of(const Batch& batch) {
  const Place x = place_of(batch.x);
  const Place y = place_of(batch.loss_target());
  for (Kind& kind : kinds_)
    if (kind.x == x && kind.y == y && kind.first == batch.first && kind.samples == batch.samples())
      return &kind;
  if (kinds_.size() == kMaxGraphs) {
    fall_back_to_eager("batches come at too many addresses or in too many shapes");
    return nullptr;
  }
  kinds_.push_back({.x = x, .y = y, .first = batch.first, .samples = batch.samples()});
  return &kinds_.back();
}

void GraphStep::forget_if_changed(const Learner& learn) {
  std::vector<double> options = learn.captured_options();
  if (options == options_) return;
  options_ = std::move(options);
  kinds_.clear();
}

void GraphStep::run_eagerly(Kind& kind, FunctionRef<bool()> body) {
  const StepArenaScope scope(ctx_, *arena_);
  ++counts_.eager;
  if (body()) ++kind.warm_ups;
}

void GraphStep::capture(Kind& kind, Learner& learn, FunctionRef<bool()> body) {
  const StepArenaScope scope(ctx_, *arena_);
  arena_->freeze();
  bool complete = false;
  try {
    kind.work.emplace(ctx_, [&] { complete = body(); });
    arena_->thaw();
    kind.work->launch();
  } catch (const RanksError&) {
    arena_->thaw();
    throw;  // to run the batch again would be of no use without the other ranks
  } catch (const Error& error) {
    arena_->thaw();
    if (Exchange* const ranks = learn.exchange()) ranks->attempt_again();
    // The handler that threw is still the current one.
    fall_back_to_eager(
        fmt::format("an operation in it ({}) waits for the device or allocates memory, or the "
                    "driver refuses its graph: {}",
                    learn.current_handler(),
                    error.what()));
    ++counts_.eager;
    (void)body();
    return;
  } catch (...) {
    arena_->thaw();
    throw;
  }
  ++counts_.captured;
  counts_.operations = kind.work->operations();
  counts_.memory = arena_->stats().peak;
  if (!complete) {
    kind.work.reset();
    return fall_back_to_eager(
        "a callback that declares it only enqueues work cancelled the step of a batch");
  }
  kind.pred = learn.batch().pred.value();
  kind.loss = learn.batch().loss.value();
  kind.weight = learn.batch().weight;
}

void GraphStep::replay(const Kind& kind, Learner& learn) {
  if (Exchange* const ranks = learn.exchange())
    ranks->agree_on_replay(learn.progress(), learn.batch(), learn.params());
  kind.work->launch();
  hand_over(learn, kind.pred, kind.loss, kind.weight, Outcome::stepped);
  ++counts_.replayed;
}

void GraphStep::hand_over(
    Learner& learn, const Tensor& pred, const Tensor& loss, const Tensor& weight, Outcome outcome) {
  const auto copied = [&](const Tensor& value) {
    if (!value.defined()) return value;  // of a batch that was cancelled
    Tensor out = ctx_.empty(value.shape(), value.dtype());
    copy(ctx_, value, out);
    return out;
  };
  learn.set_results(copied(pred), copied(loss), copied(weight), outcome);
}

void GraphStep::fall_back_to_eager(std::string_view why) {
  eager_only_ = true;
  kinds_.clear();
  log::warn("[cuda_graph] the training step is not captured: {}", why);
}

}  // namespace learn
