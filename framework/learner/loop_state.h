#pragma once
#include "framework/autograd/var.h"
#include "framework/core/function_ref.h"
#include "framework/interfaces/batch.h"
#include "framework/learner/event.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace learn {

class Callback;
class Learner;

/// Outcome of a training batch. Until its update is made, a later value replaces an earlier one in
/// this order: deferred, skipped, cancelled.
///
/// The device checks for gradients that are not finite and skips the update, without the host:
/// `PassResults::skipped_steps` and `StepControl::skipped` count these, and `Learner::step_applied`
/// reads the result.
enum class Outcome : std::uint8_t {
  pending,    ///< not decided yet
  stepped,    ///< the update was made, unless a gradient was not finite: see below
  skipped,    ///< no update, and nothing of the batch stays
  deferred,   ///< no update; the gradients are held for the next batch
  cancelled,  ///< its scope, or one around it, ended before the update: nothing stays, not its loss
};

/// State of the current batch, created for each batch: its content, the values computed from it,
/// and its outcome. Handlers replace members through `Learner::set_x` and its like.
struct BatchRun : Batch {
  Var pred;  ///< undefined until loss_begin
  /// The recorded loss, never scaled; undefined until backward_begin. With several ranks it belongs
  /// to this rank's share until the backward pass, and to the whole batch from backward_end on, as
  /// `weight` does.
  Var loss;
  Tensor weight;  ///< of the loss, see nn::Loss: one f32 element; undefined: the number of samples
  Tensor seed;  ///< gradient of the loss for the backward pass: one device element; undefined is 1
  Outcome outcome = Outcome::pending;
  /// Half gradients are in the f32 gradients already, unscaled, because ranks sum them there.
  bool half_gradients_taken = false;
  const Callback* seed_set_by = nullptr;  ///< the first to set the seed
  const Callback* unscaled_by = nullptr;  ///< callback that unscaled the gradients
};

/// The scopes that are open, outermost first, and which of them was cancelled (ADR 0003).
class ScopeStack {
 public:
  void open(Scope scope) { open_.push_back(scope); }
  /// Closes the innermost scope. Its cancellation ends with it.
  void close() {
    open_.pop_back();
    if (cancelled_ && *cancelled_ >= open_.size()) cancelled_.reset();
  }
  /// Closes what is open inside the innermost `scope`, after an attempt that threw.
  void unwind_to(Scope scope) {
    while (open_.back() != scope) open_.pop_back();
  }
  void clear() { *this = {}; }

  /// False if `scope` is not open. The outermost request wins.
  [[nodiscard]] bool cancel(Scope scope) {
    const auto found = std::find(open_.rbegin(), open_.rend(), scope);
    if (found == open_.rend()) return false;
    const auto index = static_cast<std::size_t>(open_.rend() - found) - 1;
    cancelled_ = std::min(cancelled_.value_or(index), index);
    return true;
  }
  /// An open scope is ending early, and with it all that are open inside.
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.has_value(); }
  /// It is the innermost one that was cancelled.
  [[nodiscard]] bool innermost_cancelled() const noexcept {
    return cancelled_ && *cancelled_ + 1 == open_.size();
  }
  [[nodiscard]] bool cancelled(Scope scope) const {
    return cancelled_ && open_[*cancelled_] == scope;
  }

 private:
  std::vector<Scope> open_;
  std::optional<std::size_t> cancelled_;
};

/// Runs the body of a training batch, from the forward pass to step_end. A captured graph can
/// replace it.
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
