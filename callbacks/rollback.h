#pragma once
#include "framework/core/function_ref.h"
#include "framework/learner/callback_list.h"

#include <cstdint>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// Runs `fit`. If it diverges (is ended by TerminateOnNan or a DivergedError), restores the state
/// that Checkpointer saved last, halves all learning rates permanently (Optimizer::set_lr_factor),
/// and runs `fit` for the rest; at most `times` times. Returns the number of rollbacks. If the last
/// try diverges too, that is final: TerminateOnNan reports it, or the error is thrown.
///
/// A fit that does not continue another is saved before its first batch, too. Throws UsageError
/// unless the learner has a TerminateOnNan and a Checkpointer that saves `last`; CheckpointError,
/// IoError. `of_fit` are the callbacks that `fit` adds to the learner while it runs. Several ranks
/// call this together: rank 0 has the Checkpointer, and the others take its state.
std::int64_t fit_with_rollbacks(Learner& learn,
                                FunctionRef<void()> fit,
                                std::int64_t times = 3,
                                const FitCallbacks& of_fit = {});

}  // namespace learn::callbacks
