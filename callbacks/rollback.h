#pragma once
#include "framework/core/function_ref.h"
#include "framework/learner/callback_list.h"

#include <cstdint>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// Runs `fit`. If it diverges (TerminateOnNan has ended it, or a DivergedError has), goes back to
/// the state that Checkpointer saved last, halves all learning rates for good
/// (Optimizer::set_lr_factor), and runs `fit` for the rest; at most `times` times. Returns how
/// often it went back. If the last try diverges too, that stays: TerminateOnNan says so, or the
/// error is thrown.
///
/// A fit that is not the rest of another is saved before its first batch too. Throws UsageError
/// unless the learner has a TerminateOnNan and a Checkpointer that saves `last`; CheckpointError,
/// IoError. `of_fit` are those callbacks that `fit` gives the learner for its time.
std::int64_t fit_with_rollbacks(Learner& learn,
                                FunctionRef<void()> fit,
                                std::int64_t times = 3,
                                const FitCallbacks& of_fit = {});

}  // namespace learn::callbacks
