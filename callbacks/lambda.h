#pragma once
#include "framework/learner/callback.h"

#include <functional>
#include <string>

namespace learn::callbacks {

/// A callback made of one function for one event, for tasks too small to deserve a class:
///
///   on(learn, Event::epoch_end, [](Learner& l) { fmt::print("{}\n", l.results().valid_loss); });
class LambdaCallback final : public Callback {
 public:
  using Action = std::function<void(Learner&)>;
  LambdaCallback(Event event, Action action, std::string name, int order);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int order() const override { return order_; }

#define LEARN_HANDLER(name, role, scope) \
  void name(Learner& l) override { run(Event::name, l); }
  LEARN_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
  void cancelled(Learner& l, Scope) override { run(Event::cancelled, l); }
  void error(Learner& l, const std::exception&) override { run(Event::error, l); }

 private:
  void run(Event event, Learner& learn) const {
    if (event == event_) action_(learn);
  }
  Event event_;
  Action action_;
  std::string name_;
  int order_;
};

/// Adds a function to a learner as the handler of one event; no other event is dispatched to it.
/// Returns the callback, for `Learner::remove`. Throws UsageError for an empty function.
LambdaCallback& on(Learner& learn,
                   Event event,
                   LambdaCallback::Action action,
                   std::string name = "lambda",
                   int order = order::kDefault);

}  // namespace learn::callbacks
