// Handlers that must not compile; CMakeLists.txt says with which words each is refused.
#include "framework/learner/callback.h"

namespace {

class Watcher final : public learn::Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "watcher"; }
#if LEARN_BAD_HANDLER == 0
  void step_begin(learn::Learner&) noexcept override {}
#elif LEARN_BAD_HANDLER == 1   // no such event
  void step_beginn(learn::Learner&) override {}
#elif LEARN_BAD_HANDLER == 2   // other parameters: it would not be called
  void step_begin() {}
#elif LEARN_BAD_HANDLER == 3   // it overrides, and does not say so
  void step_begin(learn::Learner&) {}
#elif LEARN_BAD_HANDLER == 4   // other frameworks' names
  void before_step(learn::Learner&) override {}
  void on_train_begin() {}
  void on_exception(const std::exception&) {}
#elif LEARN_BAD_HANDLER == 5   // it promises to change nothing: not the same function
  void cancelled(learn::Learner&, learn::Scope) const {}
#elif LEARN_BAD_HANDLER == 6   // a member that is not a handler may have such a name
  bool after_batch = false;
  void batch_end(learn::Learner&) override { after_batch = true; }
#elif LEARN_BAD_HANDLER == 7   // misspelt, without `override`, and nothing else
  void step_beginn(learn::Learner&) {}
#elif LEARN_BAD_HANDLER == 8   // other spellings of events
  void canceled(learn::Learner&, learn::Scope) {}
  void validation_end(learn::Learner&) {}
#elif LEARN_BAD_HANDLER == 9   // no handlers, but a metric that others look up
  [[nodiscard]] std::vector<std::string> metrics() const override { return {"mine"}; }
#elif LEARN_BAD_HANDLER == 10  // misspelt, without `override`, next to a right one
  void batch_end(learn::Learner&) override {}
  void step_beginn(learn::Learner&) {}
  void epoch_edn(learn::Learner&) {}
#endif
};

}  // namespace

learn::EventSet events() { return learn::handled_by<Watcher>(); }

#if LEARN_BAD_HANDLER == 0
namespace learn {
// The code that the messages advise compiles.
#define LEARN_OVERRIDE(there, here) \
  struct With_##there : Callback {  \
    void here override {}           \
  };
LEARN_FOREIGN_HANDLERS(LEARN_OVERRIDE)
LEARN_MISSPELT_HANDLERS(LEARN_OVERRIDE)
}  // namespace learn
#endif
