#pragma once
#include "framework/core/function_ref.h"

namespace learn {

class Learner;

/// How the body of a training batch is run, from the forward pass to step_end: the place where a
/// captured graph of that body can stand in for it.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  /// Runs `body` once, or does what running it would have done. The body returns whether it came to
  /// its end, optimizer step included; it may be run again after it threw.
  virtual void run(Learner& learn, FunctionRef<bool()> body) = 0;
};

/// Runs the body each time.
class EagerStep final : public StepRunner {
 public:
  void run(Learner&, FunctionRef<bool()> body) override { (void)body(); }
};

}  // namespace learn
