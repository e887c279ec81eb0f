#include "apps/learn/training/ending.h"

#include "apps/learn/common/signals.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"

namespace learn::cli {

Ending ending_of(const Learner& learn) {
  // Another rank may have received the signal that ended all.
  const Exchange* const ranks = learn.exchange();
  const int agreed = ranks != nullptr ? ranks->end_requested() : 0;
  if (const int number = agreed != 0 ? agreed : caught_signal().load(); number != 0)
    return {"interrupted", fmt::format("signal {}", number), 128 + number};
  const auto* const guard = learn.find<callbacks::TerminateOnNan>();
  const auto* const clip = learn.find<callbacks::GradientClip>();
  const std::string clipping =
      clip == nullptr ? "--clip-norm 1" : fmt::format("a --clip-norm below {}", clip->limit());
  if (guard != nullptr && guard->terminated())
    return {"diverged",
            fmt::format("{}; try a lower --lr or {}", guard->why(), clipping),
            static_cast<int>(ExitCode::diverged)};
  return {"finished", "", static_cast<int>(ExitCode::ok)};
}

}  // namespace learn::cli
