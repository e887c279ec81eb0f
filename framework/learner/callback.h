#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/learner/event.h"
#include "framework/learner/foreign_handlers.h"

#include <bitset>
#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace learn {

class Exchange;
class Learner;
struct PrecisionState;

/// Order of callbacks at one event: lower first, ties in order of addition.
namespace order {
inline constexpr int kFaultInjection =
    -60;  ///< so that all others receive a fault as if it were real
inline constexpr int kProgressiveResizing = -56;  ///< so that the smaller images are mixed
inline constexpr int kMix = -55;                  ///< before the inputs are cast
inline constexpr int kMixedPrecision = -50;
inline constexpr int kDataParallel = -45;
inline constexpr int kDefault = 0;
inline constexpr int kGradientAccumulation = 10;
inline constexpr int kGradientClip = 20;
inline constexpr int kParamScheduler = 40;
inline constexpr int kRecorder = 50;  ///< reads what the others have decided
inline constexpr int kReport = 60;    ///< progress, tables, files
inline constexpr int kTracker = 70;   ///< early stopping, checkpoints: decide on what was recorded
}  // namespace order

/// A modification of the training loop. Override the handlers of the events that it needs; the
/// others cost nothing.
///
/// A handler may replace the batch's x, y, pred, loss or gradient seed (`learn.set_x` etc.), and
/// may end a scope with `learn.cancel(scope)`. It may throw only to report an error. A callback
/// that receives a scope's begin event also receives its end event, whatever is cancelled; after an
/// error only `error` is guaranteed.
class Callback {
 public:
  virtual ~Callback() = default;
  /// The name in the registry and in `--callbacks`: "gradient_clip".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int order() const { return order::kDefault; }
  /// True if its handlers inside a batch only enqueue work on the device, so that one run of them
  /// can be captured in a graph and replayed; false if the host must run them at each step.
  [[nodiscard]] virtual bool capturable() const { return false; }
  /// Options that those handlers pass to the device by value, if they may change during a fit. A
  /// captured step keeps the values of its capture, so it is dropped when these differ. Values in
  /// device memory need not be listed; keep numbers that change often there.
  [[nodiscard]] virtual std::vector<double> captured_options() const { return {}; }
  /// Actions that only one callback of a learner may perform, in words: "set the loss scale".
  /// Adding a second callback with the same claim is an error.
  [[nodiscard]] virtual std::vector<std::string> claims() const { return {}; }
  /// Names of what it gives to `Learner::add_metric`: they can be monitored, and a table has its
  /// columns for them before there are values.
  [[nodiscard]] virtual std::vector<std::string> metrics() const { return {}; }
  /// The precision that this callback sets, or null if it sets none. Loading a state writes to it.
  [[nodiscard]] virtual PrecisionState* precision() { return nullptr; }
  /// The connection to other processes that train the same model, or null: the loop then computes
  /// a share of each batch, and has the gradients, losses and outputs of whole ones.
  [[nodiscard]] virtual Exchange* exchange() { return nullptr; }
  /// Whether it runs in a sandbox, a training that leaves no trace (`Sandbox`). Callbacks that
  /// define a step do; callbacks that control a whole training, record, show or write it do not. By
  /// default the order decides: callbacks that run before schedules do.
  [[nodiscard]] virtual bool runs_in_sandbox() const { return order() < order::kParamScheduler; }
  /// Its state, as it belongs in a checkpoint.
  virtual void visit_state(StateVisitor&) {}
  /// Called when it was added to a learner, outside of a run. Create state in the ParamStore here,
  /// so that it exists when a checkpoint is loaded.
  virtual void attached(Learner&) {}

  // The handlers of the table of events: virtual void train_begin(Learner&), and so on.
#define LEARN_HANDLER(name, role, scope) \
  virtual void name(Learner&) {}
  LEARN_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
  /// `scope` was cancelled and is about to close; its end event follows.
  virtual void cancelled(Learner&, Scope) {}
  /// Called after an exception. Must not throw; nothing else of the loop runs after it. It may come
  /// before this callback has received the begin events of the open scopes.
  virtual void error(Learner&, const std::exception&) {}
};

using EventSet = std::bitset<kEventCount>;

/// Whether `C` overrides something by which a callback takes part in a training without handling an
/// event.
template <std::derived_from<Callback> C>
[[nodiscard]] constexpr bool acts_without_events() {
#define LEARN_IS_BASES(name) \
  requires { requires std::is_same_v<decltype(&C::name), decltype(&Callback::name)>; }
  return !(LEARN_IS_BASES(captured_options) && LEARN_IS_BASES(claims) && LEARN_IS_BASES(metrics) &&
           LEARN_IS_BASES(precision) && LEARN_IS_BASES(exchange) && LEARN_IS_BASES(visit_state) &&
           LEARN_IS_BASES(attached));
#undef LEARN_IS_BASES
}

/// Events that `C` handles, determined at compile time from the types of pointers to its handlers:
/// one is a member of `Callback` exactly when no class between declares it. A handler with other
/// parameters, which would never be called, or with another framework's name does not compile, and
/// neither does a callback that does nothing. In a class with other handlers, common misspellings
/// without `override` are detected (`step_beginn`), but not all, because C++20 cannot list the
/// members of a class.
template <std::derived_from<Callback> C>
[[nodiscard]] EventSet handled_by() {
#define LEARN_REFUSE(there, here)                                                     \
  static_assert(                                                                      \
      !requires { requires std::is_member_function_pointer_v<decltype(&C::there)>; }, \
      "no event calls a handler '" #there "'; here it is: void " #here " override");
  LEARN_FOREIGN_HANDLERS(LEARN_REFUSE)
  LEARN_MISSPELT_HANDLERS(LEARN_REFUSE)
#undef LEARN_REFUSE
  EventSet set;
  constexpr int kHandlers =
#define LEARN_COUNT_AS(name, ...) \
  +!std::is_same_v<decltype(&C::name), void (Callback::*)(__VA_ARGS__)>
#define LEARN_COUNT(name, role, scope) LEARN_COUNT_AS(name, Learner&)
      LEARN_EVENTS(LEARN_COUNT) LEARN_COUNT_AS(cancelled, Learner&, Scope)
          LEARN_COUNT_AS(error, Learner&, const std::exception&);
#undef LEARN_COUNT
#undef LEARN_COUNT_AS
  static_assert(kHandlers > 0 || std::is_same_v<C, Callback> || acts_without_events<C>(),
                "this callback handles no event, so it does nothing: is the name of a handler "
                "misspelt? Write 'override' after it");
#define LEARN_FIND_AS(name, ...)                                                           \
  static_assert(std::is_convertible_v<decltype(&C::name), void (C::*)(__VA_ARGS__)>,       \
                "a handler of '" #name "' is: void " #name "(" #__VA_ARGS__ ") override"); \
  set[index_of(Event::name)] = !std::is_same_v<decltype(&C::name), void (Callback::*)(__VA_ARGS__)>;
#define LEARN_FIND(name, role, scope) LEARN_FIND_AS(name, Learner&)
  LEARN_EVENTS(LEARN_FIND)
  LEARN_FIND_AS(cancelled, Learner&, Scope)
  LEARN_FIND_AS(error, Learner&, const std::exception&)
#undef LEARN_FIND
#undef LEARN_FIND_AS
  return set;
}

}  // namespace learn
