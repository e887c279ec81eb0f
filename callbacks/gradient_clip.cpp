#include "callbacks/gradient_clip.h"

#include "callbacks/registry.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace learn::callbacks {

GradientClip::GradientClip(float limit, ClipBy by) : limit_(limit), by_(by) {
  check<UsageError>(std::isfinite(limit) && limit > 0,
                    "gradient_clip: the limit must be positive and finite, got {}",
                    limit);
}

std::vector<std::string> GradientClip::claims() const {
  return {by_ == ClipBy::norm ? "clip gradients by norm" : "clip gradients by value"};
}

void GradientClip::step_begin(Learner& learn) {
  nn::ParamStore& params = learn.grads();
  auto& control = learn.optimizer().control();
  if (by_ == ClipBy::value) return optim::clip_gradient_value(params, limit_, control);
  if (!norm_.defined()) norm_ = Tensor(learn.context().persistent(), {1}, DType::f32);
  optim::clip_gradient_norm(params, limit_, norm_, control);
}

void GradientClip::batch_end(Learner& learn) {
  if (!norm_.defined() || learn.batch().outcome != Outcome::stepped) return;
  if (auto* const recorder = learn.find<Recorder>()) recorder->note_norms(norm_);
}

double GradientClip::last_norm(Learner& learn) const {
  if (!norm_.defined()) return std::numeric_limits<double>::quiet_NaN();
  return get(to_host(learn.context(), norm_), 0);
}

std::string clipping_advice(const Learner& learn) {
  const auto* const clip = learn.find<GradientClip>();
  return clip == nullptr ? "gradient clipping"
                         : fmt::format("gradients clipped below {}", clip->limit());
}

void register_gradient_clip(CallbackRegistry& registry) {
  struct Options {
    float limit = 1;
    ClipBy by = ClipBy::norm;
  };
  registry.add(
      "gradient_clip",
      "clips the unscaled gradients",
      Options{},
      [](OptionTable& t, Options& o) {
        t.number("limit", o.limit, kPositive, "X", "maximum norm or absolute value");
        t.choice("by",
                 o.by,
                 {{"norm", ClipBy::norm}, {"value", ClipBy::value}},
                 "clip the total norm, or each value");
      },
      [](const Options& o, const RunSettings&) {
        return make_callback<GradientClip>(Role::trains, o.limit, o.by);
      });
}

}  // namespace learn::callbacks
