#include "callbacks/registry.h"

#include "callbacks/registrations.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

CallbackRegistry callback_registry() {
  CallbackRegistry registry("callback");
  for (const auto& add_to : kRegistrations) add_to(registry);
  return registry;
}

CallbackWithEvents make_from_text(std::string_view spec, const RunSettings& run) {
  return callback_registry().make(spec)(run);
}

Callback& add_from_text(Learner& learn, std::string_view spec, const RunSettings& run) {
  CallbackWithEvents added = make_from_text(spec, run);
  Callback& callback = *added.callback;
  learn.insert(std::move(added.callback), added.events);
  return callback;
}

void add_from_texts(Learner& learn,
                    const std::vector<std::string>& specs,
                    Role role,
                    const RunSettings& run) {
  for (const std::string& spec : specs) {
    CallbackWithEvents added = make_from_text(spec, run);
    if (added.role == role) learn.insert(std::move(added.callback), added.events);
  }
}

}  // namespace learn::callbacks
