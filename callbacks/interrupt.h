#pragma once
#include "framework/learner/callback.h"

#include <atomic>

namespace learn::callbacks {

/// Ends the training after the current batch, or after the current update if several batches make
/// one, once `requested` is not 0, as a signal handler sets it. The flag must outlive the callback.
class Interrupt final : public Callback {
 public:
  explicit Interrupt(const std::atomic<int>& requested) : requested_(requested) {}

  [[nodiscard]] std::string_view name() const override { return "interrupt"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  [[nodiscard]] bool runs_in_sandbox() const override { return true; }
  void batch_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;

 private:
  const std::atomic<int>& requested_;
};

}  // namespace learn::callbacks
