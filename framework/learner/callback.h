#pragma once
#include "framework/learner/event.h"
#include "framework/tensor/state_visitor.h"

#include <array>
#include <bitset>
#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace learn {

class Learner;

/// Where a callback runs among its peers on one event: lower first, ties in order of addition.
namespace order {
inline constexpr int kMixedPrecision = -50;
inline constexpr int kDefault = 0;
inline constexpr int kGradientAccumulation = 10;
inline constexpr int kGradientClip = 20;
inline constexpr int kParamScheduler = 40;
inline constexpr int kRecorder = 50;  ///< reads what the others have settled
inline constexpr int kReport = 60;    ///< progress, tables, files
inline constexpr int kTracker = 70;   ///< early stopping, checkpoints: decide on what was recorded
}  // namespace order

/// One tweak of the training loop. Override the events it needs; the rest cost nothing.
///
/// A handler may read and replace the learner's x, y, pred, loss or gradient seed, and may end a
/// scope with `learn.cancel(scope)`. It may throw only to report an error. Who hears the event that
/// opens a scope also hears the one that closes it, whatever is cancelled; after an error neither
/// is promised, only `error`.
class Callback {
 public:
  virtual ~Callback() = default;
  /// As the registry and `--callbacks` know it: "gradient_clip".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int order() const { return order::kDefault; }
  /// True if its handlers inside a batch only enqueue work on the device, so that one run of them
  /// can be captured in a graph and replayed; false if the host must run them at each step.
  [[nodiscard]] virtual bool capturable() const { return false; }
  /// The options that those handlers hand to the device by value, if they may change during a fit.
  /// A captured step goes on with the values of its capture, so it is dropped when these differ.
  /// Nothing needs to be said of what lies in device memory, where a number belongs that changes
  /// often.
  [[nodiscard]] virtual std::vector<double> captured_options() const { return {}; }
  /// What only one callback of a learner may do, in words: "set the loss scale". Two callbacks with
  /// a claim in common are refused when the second one is added.
  [[nodiscard]] virtual std::vector<std::string> claims() const { return {}; }
  /// What of it belongs into a checkpoint.
  virtual void visit_state(StateVisitor&) {}
  /// It was added to a learner, which does not run: the place to make state in its ParamStore, so
  /// that it is there when a checkpoint is loaded.
  virtual void attached(Learner&) {}

  virtual void train_begin(Learner&) {}
  virtual void epoch_begin(Learner&) {}
  virtual void batch_begin(Learner&) {}
  virtual void loss_begin(Learner&) {}
  virtual void backward_begin(Learner&) {}
  virtual void backward_end(Learner&) {}
  virtual void step_begin(Learner&) {}
  virtual void step_end(Learner&) {}
  virtual void batch_end(Learner&) {}
  virtual void validate_begin(Learner&) {}
  virtual void validate_end(Learner&) {}
  virtual void epoch_end(Learner&) {}
  virtual void train_end(Learner&) {}
  /// `scope` was cancelled and is about to close; its end event follows.
  virtual void cancelled(Learner&, Scope) {}
  /// Something threw. Must not throw; nothing else of the loop runs after it. It may come before
  /// this callback has heard of the scopes that are open.
  virtual void error(Learner&, const std::exception&) {}
};

using EventSet = std::bitset<kEventCount>;

/// The events that `C` overrides, found at compile time from the types of its members: `&C::f` is a
/// member of `Callback` exactly when no class between declares `f`.
template <std::derived_from<Callback> C>
[[nodiscard]] EventSet handled_by() {
  constexpr auto overridden = []<class Owner, class... Args>(void (Owner::*)(Args...)) {
    return !std::is_same_v<Owner, Callback>;
  };
  const std::array<bool, kEventCount> found{overridden(&C::train_begin),
                                            overridden(&C::epoch_begin),
                                            overridden(&C::batch_begin),
                                            overridden(&C::loss_begin),
                                            overridden(&C::backward_begin),
                                            overridden(&C::backward_end),
                                            overridden(&C::step_begin),
                                            overridden(&C::step_end),
                                            overridden(&C::batch_end),
                                            overridden(&C::validate_begin),
                                            overridden(&C::validate_end),
                                            overridden(&C::epoch_end),
                                            overridden(&C::train_end),
                                            overridden(&C::cancelled),
                                            overridden(&C::error)};
  EventSet set;
  for (std::size_t i = 0; i < kEventCount; ++i) set[i] = found[i];
  return set;
}

}  // namespace learn
