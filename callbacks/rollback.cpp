#include "callbacks/rollback.h"

#include "callbacks/checkpointer.h"
#include "callbacks/lambda.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"
#include "framework/learner/share_state.h"
#include "framework/runs/last_state.h"

#include <filesystem>
#include <optional>

namespace learn::callbacks {
namespace {

/// Keeps the saved state of the start of a fit while it is alive.
class SaveStart {
 public:
  SaveStart(Learner& learn, Checkpointer& saver)
      : learn_(learn),
        listener_(on(
            learn,
            Event::train_begin,
            [&saver](Learner& l) {
              if (!l.progress().resumed) (void)saver.save_last(l);
            },
            "save_start",
            order::kTracker + 20)) {}
  ~SaveStart() { learn_.remove(listener_); }
  SaveStart(const SaveStart&) = delete;
  SaveStart& operator=(const SaveStart&) = delete;

 private:
  Learner& learn_;
  LambdaCallback& listener_;
};

/// `saver` is null on a rank that takes the state of rank 0.
void roll_back(Learner& learn, const Checkpointer* saver, const FitCallbacks& of_fit) {
  constexpr float kHalf = 0.5F;
  const float factor = learn.optimizer().lr_factor() * kHalf;
  if (saver != nullptr) {
    const std::filesystem::path folder = saver->path("last").parent_path();
    load_last_state(folder, find_last_state(folder), [&](StateVisitor& visitor) {
      learn.visit_state(visitor, of_fit);
    });
  }
  if (Exchange* const exchange = learn.exchange())
    share_state(learn, exchange->communicator(), of_fit);
  learn.resume();
  learn.optimizer().set_lr_factor(factor);
}

}  // namespace

std::int64_t fit_with_rollbacks(Learner& learn,
                                FunctionRef<void()> fit,
                                std::int64_t times,
                                const FitCallbacks& of_fit) {
  const auto* const guard = learn.find<TerminateOnNan>();
  const bool first = learn.exchange() == nullptr || learn.exchange()->rank() == 0;
  auto* const saver = first ? learn.find<Checkpointer>() : nullptr;
  check<UsageError>(guard != nullptr && (!first || (saver != nullptr && saver->saves_last())),
                    "a rollback needs the callbacks terminate_on_nan and checkpointer, and the "
                    "latter must save 'last'");
  std::optional<SaveStart> save_start;
  if (saver != nullptr) save_start.emplace(learn, *saver);
  for (std::int64_t made = 0;; ++made) {
    try {
      fit();
      if (!guard->terminated() || made == times) return made;
    } catch (const DivergedError& e) {
      if (made == times) throw;
      log::warn("[rollback] {}", e.what());
    }
    roll_back(learn, saver, of_fit);
    log::warn(
        "[rollback] {} of {}: back to the state after batch {}, in epoch {}; from now on the "
        "learning rate is multiplied by {}",
        made + 1,
        times,
        learn.progress().batch_clock,
        learn.progress().epoch_clock + 1,
        learn.optimizer().lr_factor());
  }
}

}  // namespace learn::callbacks
