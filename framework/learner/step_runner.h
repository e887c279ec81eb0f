#pragma once
#include "framework/core/function_ref.h"

namespace learn {

class Learner;

/// How the body of a training batch is run, from the forward pass to step_end: the place where a
/// captured graph of that body can stand in for it.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  /// Runs `body` once, or does what running it would have done.
  virtual void run(Learner& learn, FunctionRef<void()> body) = 0;
};

/// Runs the body each time.
class EagerStep final : public StepRunner {
 public:
  void run(Learner&, FunctionRef<void()> body) override { body(); }
};

}  // namespace learn
