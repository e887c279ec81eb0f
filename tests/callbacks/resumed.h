#pragma once
#include "callbacks/lambda.h"
#include "framework/learner/learner.h"
#include "tests/support/memory_state.h"

#include <cstdint>

/// A training that is saved in the middle of an epoch, and another process that resumes it.
namespace learn::test {

/// Saves the state at the end of the training batch after which `batches` have been trained.
inline void save_after(Learner& learn, std::int64_t batches, MemoryState& state) {
  callbacks::on(
      learn,
      Event::batch_end,
      [batches, &state](Learner& l) {
        if (l.progress().training && l.progress().batch_clock == batches)
          state = save(l.context(), l);
      },
      "save",
      500);
}

/// Lets a learner with the same callbacks continue from there.
inline void resume_from(Learner& learn, const MemoryState& state) {
  load(learn.context(), state, learn);
  learn.resume();
}

}  // namespace learn::test
