#include "callbacks/lookahead.h"

#include "callbacks/registry.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/map/map.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace learn::callbacks {
namespace {

Tensor& slow_weights(Learner& learn) { return learn.params().state("lookahead", true); }

}  // namespace

Lookahead::Lookahead(const LookaheadOptions& options) : options_(options) {
  check<UsageError>(
      options.every >= 1 && options.keep >= 0 && options.keep <= 1 && options.power >= 0,
      "lookahead: every is {}, keep {}, power {}; the first must be at least 1, the "
      "second in [0, 1], the third not negative",
      options.every,
      options.keep,
      options.power);
}

void Lookahead::visit_state(StateVisitor& visitor) {
  visitor.visit("updates", updates_, {});
  if (slow_buffers_.defined()) visitor.visit("buffers", slow_buffers_);
}

void Lookahead::attached(Learner& learn) {
  (void)slow_weights(learn);
  const Tensor& buffers = learn.params().flat_buffers();
  if (buffers.defined() && buffers.elements() > 0)
    slow_buffers_ = Tensor(learn.context().persistent(), buffers.shape(), buffers.dtype());
}

void Lookahead::train_begin(Learner& learn) {
  if (learn.progress().resumed) return;
  updates_ = 0;
  kernels::cast(learn.context(), learn.params().flat_master(), slow_weights(learn));
  if (slow_buffers_.defined()) copy(learn.context(), learn.params().flat_buffers(), slow_buffers_);
}

double Lookahead::weight_of_slow(std::int64_t updates, std::int64_t planned) const {
  return options_.keep *
         std::pow(static_cast<double>(updates) / static_cast<double>(planned), options_.power);
}

void Lookahead::batch_end(Learner& learn) {
  if (!learn.progress().training || learn.batch().outcome != Outcome::stepped) return;
  const std::int64_t planned = learn.progress().fit_steps;
  ++updates_;
  if (updates_ == planned)
    average(learn, 1);
  else if (updates_ % options_.every == 0)
    average(learn, weight_of_slow(std::min(updates_, planned), planned));
}

void Lookahead::average(Learner& learn, double weight_of_slow) {
  Context& ctx = learn.context();
  nn::ParamStore& params = learn.params();
  const kernels::MapProgram mean =
      kernels::compile(weight_of_slow * expr::arg(0) + (1 - weight_of_slow) * expr::arg(1));
  const auto average_with = [&](const Tensor& slow, const Tensor& current) {
    kernels::map(ctx, mean, std::array{slow, current}, slow);
  };
  average_with(slow_weights(learn), params.flat_master());
  kernels::cast(ctx, slow_weights(learn), params.flat_master());
  params.refresh_working();
  if (!slow_buffers_.defined()) return;
  average_with(slow_buffers_, params.flat_buffers());
  copy(ctx, slow_buffers_, params.flat_buffers());
  params.commit_buffers();
}

void register_lookahead(CallbackRegistry& registry) {
  registry.add(
      "lookahead",
      "averages the weights every few updates and continues from the average",
      LookaheadOptions{},
      [](OptionTable& t, LookaheadOptions& o) {
        t.number("every", o.every, kCount, "N", "updates between two averages");
        t.number("keep",
                 o.keep,
                 {.low = 0, .high = 1},
                 "D",
                 "weight of the old average at the end of the training");
        t.number("power",
                 o.power,
                 kNotNegative,
                 "X",
                 "this weight grows with this power of the progress; 0: it stays the same");
      },
      [](const LookaheadOptions& o, const RunSettings&) {
        return make_callback<Lookahead>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
