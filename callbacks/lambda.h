#pragma once
#include "framework/learner/callback.h"

#include <functional>
#include <string>

namespace learn::callbacks {

/// A callback made of one function for one event, for things too small to deserve a class:
///
///   on(learn, Event::epoch_end, [](Learner& l) { fmt::print("{}\n", l.state().valid_loss); });
class LambdaCallback final : public Callback {
 public:
  using Action = std::function<void(Learner&)>;
  LambdaCallback(Event event, Action action, std::string name, int order);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int order() const override { return order_; }

  void train_begin(Learner& l) override { run(Event::train_begin, l); }
  void epoch_begin(Learner& l) override { run(Event::epoch_begin, l); }
  void batch_begin(Learner& l) override { run(Event::batch_begin, l); }
  void loss_begin(Learner& l) override { run(Event::loss_begin, l); }
  void backward_begin(Learner& l) override { run(Event::backward_begin, l); }
  void backward_end(Learner& l) override { run(Event::backward_end, l); }
  void step_begin(Learner& l) override { run(Event::step_begin, l); }
  void step_end(Learner& l) override { run(Event::step_end, l); }
  void batch_end(Learner& l) override { run(Event::batch_end, l); }
  void validate_begin(Learner& l) override { run(Event::validate_begin, l); }
  void validate_end(Learner& l) override { run(Event::validate_end, l); }
  void epoch_end(Learner& l) override { run(Event::epoch_end, l); }
  void train_end(Learner& l) override { run(Event::train_end, l); }
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

/// Adds a function to a learner as the listener of one event; only that event is dispatched to it.
/// Returns the callback, for `Learner::remove`. Throws UsageError for an empty function.
LambdaCallback& on(Learner& learn,
                   Event event,
                   LambdaCallback::Action action,
                   std::string name = "lambda",
                   int order = order::kDefault);

}  // namespace learn::callbacks
