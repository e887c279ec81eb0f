#include "callbacks/lambda.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

LambdaCallback::LambdaCallback(Event event, Action action, std::string name, int order)
    : event_(event), action_(std::move(action)), name_(std::move(name)), order_(order) {
  check<UsageError>(action_ != nullptr, "callback '{}' has no function", name_);
}

LambdaCallback& on(
    Learner& learn, Event event, LambdaCallback::Action action, std::string name, int order) {
  auto owned = std::make_unique<LambdaCallback>(event, std::move(action), std::move(name), order);
  LambdaCallback& callback = *owned;
  EventSet events;
  events.set(index_of(event));
  learn.insert(std::move(owned), events);
  return callback;
}

void register_lambda(CallbackRegistry& registry) {
  registry.refuse("lambda",
                  "it runs a function of the program. A program adds one with callbacks::on(learn, "
                  "event, function)");
}

}  // namespace learn::callbacks
