#include "framework/learner/learner.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace tiny;

TEST_CASE("gradients that were held are gone after a batch that is skipped or cancelled") {
  // The first of three batches is held, the second left in some way, and the third makes the step.
  class Leave final : public Callback {
   public:
    Leave(bool holds, std::optional<Event> skips, std::optional<Event> cancels)
        : holds_(holds), skips_(skips), cancels_(cancels) {}
    [[nodiscard]] std::string_view name() const override { return "leave"; }
    void loss_begin(Learner& l) override { at(Event::loss_begin, l); }
    void backward_begin(Learner& l) override {
      if (l.progress().batch_in_pass == 0 && holds_) return l.defer_step();
      if (l.progress().batch_in_pass == 0) return l.skip_step();
      if (l.progress().batch_in_pass == 2) held = l.progress().gradients_held;
      at(Event::backward_begin, l);
    }
    void backward_end(Learner& l) override { at(Event::backward_end, l); }
    void step_begin(Learner& l) override {
      at(Event::step_begin, l);
      if (l.progress().batch_in_pass == 2) grads = values(l.grads().flat_grad());
    }
    bool held = true;
    std::vector<double> grads;

   private:
    void at(Event event, Learner& l) {
      if (l.progress().batch_in_pass != 1) return;
      if (skips_ == event) l.skip_step();
      if (cancels_ == event) l.cancel(Scope::batch);
    }
    bool holds_;
    std::optional<Event> skips_, cancels_;
  };
  struct Left {
    bool held;
    std::vector<double> grads, weights, running;
  };
  const auto left = [](bool holds, std::optional<Event> skips, std::optional<Event> cancels) {
    Training t({2, 3, 2}, {});
    const auto& leave = t.learn.add<Leave>(holds, skips, cancels);
    t.learn.fit(1, 0.1);
    CHECK(t.learn.progress().step_clock == 1);
    return Left{leave.held,
                leave.grads,
                values(t.learn.params().flat_master()),
                values(t.learn.params().flat_buffers())};
  };
  const Left plain = left(false, Event::backward_begin, {});
  REQUIRE_FALSE(plain.grads.empty());
  const auto check_same_as_plain = [&](const Left& other) {
    CHECK_FALSE(other.held);
    CHECK(other.grads == plain.grads);
    CHECK(other.weights == plain.weights);
    CHECK(other.running == plain.running);
  };
  for (const Event event : {Event::backward_begin, Event::backward_end, Event::step_begin}) {
    CAPTURE(name_of(event));
    check_same_as_plain(left(true, event, {}));
  }
  for (const Event event : {Event::loss_begin, Event::backward_begin, Event::backward_end}) {
    CAPTURE(name_of(event));
    check_same_as_plain(left(true, {}, event));
  }
}
