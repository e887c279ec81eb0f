#pragma once
#include "framework/core/function_ref.h"
#include "framework/learner/callback.h"

#include <concepts>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// A callback for single fits (`Learner::fit`), with the events that it handles. It belongs to the
/// holder of the pointer, who can read it after the fit and pass it to another.
struct FitCallback {
  /// From `std::make_shared<C>(...)`.
  template <std::derived_from<Callback> C>
  requires(!std::same_as<C, Callback>)        // whose events would be unknown
      FitCallback(std::shared_ptr<C> shared)  // not explicit: a list of callbacks is one of these
      : callback(std::move(shared)), events(handled_by<C>()) {}
  /// For callbacks made by the registry.
  FitCallback(std::shared_ptr<Callback> shared, EventSet handled)
      : callback(std::move(shared)), events(handled) {}

  std::shared_ptr<Callback> callback;
  EventSet events;
};

/// `{std::make_shared<EarlyStopping>(options), another}`.
using FitCallbacks = std::vector<FitCallback>;

/// The callbacks of a learner, in the order they run, and which of their handlers is running.
class CallbackList {
 public:
  /// Throws UsageError for null, for a callback that was added before, and, naming both, for one
  /// that conflicts with another.
  Callback& insert(std::shared_ptr<Callback> callback, EventSet events);
  /// Throws UsageError for one that is not there.
  void remove(const Callback& callback);
  /// The first of type `C`, or null.
  template <std::derived_from<Callback> C>
  [[nodiscard]] C* find() const noexcept {
    for (const Entry& entry : entries_)
      if (auto* c = dynamic_cast<C*>(entry.callback.get())) return c;
    return nullptr;
  }
  /// No event reaches those that take no part in a sandbox (`Callback::runs_in_sandbox`) and their
  /// claims do not hold, until as many `leave_sandbox` have followed.
  void enter_sandbox();
  void leave_sandbox() noexcept;
  /// Callbacks that an event reaches, in the order they run.
  [[nodiscard]] std::vector<const Callback*> listeners(Event event) const;
  /// The loop (`kLoop`), with the callbacks that run at each event.
  [[nodiscard]] std::string explain() const;

  /// Calls the handlers of an event of the table, until `stop` returns true after one of them.
  void emit(Learner& learn, Event event, FunctionRef<bool()> stop);
  void emit_cancelled(Learner& learn, Scope scope);
  /// Exceptions from an error handler are logged.
  void emit_error(Learner& learn, const std::exception& error) noexcept;
  /// The callback whose handler runs, or ran when something threw; null outside of any.
  [[nodiscard]] const Callback* running() const noexcept { return running_; }
  /// Whether the handler that runs is that of one of these events.
  template <std::same_as<Event>... Events>
  [[nodiscard]] bool at(Events... events) const noexcept {
    return running_ != nullptr && ((event_ == events) || ...);
  }
  /// In words: "'gradient_clip' at step_begin".
  [[nodiscard]] std::string current_handler() const;
  /// Forgets the handler that was running when something threw.
  void reset() noexcept { running_ = nullptr; }

  /// The state of the callback that sets the precision; null if none does.
  [[nodiscard]] PrecisionState* precision() const;
  /// The connection between ranks; null if this process trains alone.
  [[nodiscard]] Exchange* exchange() const;
  /// Visits the state of each callback under its name; a second one of the same name is "name_2".
  void visit_state(StateVisitor& visitor);
  /// The `captured_options` of all callbacks, each after its number.
  void append_captured_options(std::vector<double>& options) const;
  /// The `metrics` of all.
  void append_metrics(std::vector<std::string>& names) const;

 private:
  struct Entry {
    std::shared_ptr<Callback> callback;  // of a fit's: its owner has it too
    EventSet events;
    int silenced = 0;  // number of sandboxes that hide it
  };

  /// Calls `handler` of everyone whom `event` reaches, until it returns false.
  void each(Event event, FunctionRef<bool(Callback&)> handler);

  std::vector<Entry> entries_;  // sorted once, at insertion
  const Callback* running_ = nullptr;
  Event event_ = Event::error;
};

}  // namespace learn
