#include "apps/learn/training/short_grace.h"

#include "callbacks/checkpointer.h"
#include "callbacks/lambda.h"
#include "framework/core/log.h"
#include "framework/core/seconds_since.h"
#include "framework/distributed/launcher.h"
#include "framework/learner/learner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace learn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  Clock::time_point update;  ///< start of the running one, or of the wait for its data
  Clock::time_point save;
  double longest_update = 0;
  bool warned = false;
};

}  // namespace

void warn_of_short_grace(Learner& learn) {
  const std::optional<Launcher> launcher = find_launcher();
  const auto* const saver = learn.find<callbacks::Checkpointer>();
  if (!launcher || !launcher->grace || saver == nullptr || !saver->saves_last()) return;
  const auto times = std::make_shared<Times>();
  using callbacks::on;
  on(learn, Event::epoch_begin, [times](Learner&) { times->update = Clock::now(); });
  on(learn, Event::batch_end, [times](Learner& l) {
    if (!l.progress().training || l.progress().gradients_held) return;
    times->longest_update = std::max(times->longest_update, seconds_since(times->update));
    times->update = Clock::now();
  });
  on(
      learn,
      Event::epoch_end,
      [times](Learner&) { times->save = Clock::now(); },
      "before_saving",
      saver->order() - 1);
  on(
      learn,
      Event::epoch_end,
      [times, grace = *launcher->grace](Learner&) {
        const double needed = times->longest_update + seconds_since(times->save);
        if (times->warned || needed <= grace.seconds) return;
        times->warned = true;
        log::warn(
            "[ranks] an update and a save take {:.1f} s, but the launcher kills processes {} s "
            "after "
            "SIGTERM, and the run would lose its epoch: set {} to {:.0f}",
            needed,
            grace.seconds,
            grace.setting,
            2 * needed);
      },
      "after_saving",
      saver->order() + 1);
}

}  // namespace learn::cli
