#include "callbacks/ema.h"

#include "callbacks/registry.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/optim/ema.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <utility>

namespace learn::callbacks {
namespace {

constexpr const char* kState = "ema";

}  // namespace

Ema::Ema(const EmaOptions& options, bool evaluate) : options_(options), evaluate_(evaluate) {
  check<UsageError>(options.decay >= 0 && options.decay < 1,
                    "ema: the decay must be in [0,1), got {}",
                    options.decay);
}

std::vector<std::string> Ema::claims() const { return {"average the weights"}; }

void Ema::visit_state(StateVisitor& visitor) {
  visitor.visit("begun", begun_);
  visitor.visit("first_step", options_.first_step, {});
}

Tensor& Ema::average(Learner& learn) { return learn.params().state(kState, true); }

void Ema::attached(Learner& learn) {
  // The average belongs to another learner, or to an earlier fit.
  if (!learn.params().states().contains(kState)) begun_ = false;
  (void)average(learn);
}

void Ema::train_begin(Learner& learn) {
  const std::int64_t step = learn.optimizer().read_control().step;
  if (std::exchange(begun_, true)) {
    check<CheckpointError>(options_.first_step <= step,
                           "ema: the checkpoint's average started at update {}, after {} updates",
                           options_.first_step,
                           step);
    return;
  }
  kernels::cast(learn.context(), learn.params().flat_master(), average(learn));
  options_.first_step = step;
}

void Ema::step_end(Learner& learn) {
  if (learn.batch().outcome != Outcome::stepped) return;
  kernels::ema_update(learn.context(),
                      learn.params().flat_master(),
                      options_,
                      learn.optimizer().control(),
                      average(learn));
}

void Ema::validate_begin(Learner& learn) {
  if (evaluate_) show(learn);
}

void Ema::validate_end(Learner& learn) { hide(learn); }

void Ema::error(Learner& learn, const std::exception&) { hide(learn); }

void Ema::show(Learner& learn) {
  if (!begun_ || std::exchange(shown_, true)) return;
  nn::ParamStore& params = learn.params();
  if (!own_.defined() || own_.dtype() != params.master_dtype())
    own_ = Tensor(learn.context().persistent(), {params.flat_size()}, params.master_dtype());
  copy(learn.context(), params.flat_master(), own_);
  kernels::cast(learn.context(), average(learn), params.flat_master());
  params.refresh_working();
}

void Ema::hide(Learner& learn) {
  if (!std::exchange(shown_, false)) return;
  copy(learn.context(), own_, learn.params().flat_master());
  learn.params().refresh_working();
}

void register_ema(CallbackRegistry& registry) {
  struct Options {
    EmaOptions average;
    bool evaluate = true;
  };
  registry.add(
      "ema",
      "exponential moving average of the weights",
      Options{},
      [](OptionTable& t, Options& o) {
        t.number("decay", o.average.decay, kShare, "X", "weight of the old average at each update");
        t.flag("warmup", o.average.warmup, "use a lower decay at first");
        t.flag("evaluate", o.evaluate, "validate and save the averaged weights");
      },
      [](const Options& o, const RunSettings&) {
        return make_callback<Ema>(Role::trains, o.average, o.evaluate);
      });
}

}  // namespace learn::callbacks
