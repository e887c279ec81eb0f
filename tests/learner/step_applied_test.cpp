// Whether an update was made, which the device alone knows at first.
#include "framework/kernels/step/gradients.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace tiny;

TEST_CASE("a handler can ask whether the device made the update") {
  class Asks final : public Callback {
   public:
    [[nodiscard]] std::string_view name() const override { return "asks"; }
    void step_begin(Learner& l) override {
      if (l.progress().batch_in_pass == 2) return l.skip_step();
      if (l.progress().batch_in_pass != 1) return;
      const Tensor bad = full(l.context().step(), {1}, DType::f32, INFINITY);
      kernels::find_non_finite(l.context(), bad, l.optimizer().control());
    }
    void step_end(Learner& l) override { note(l, "s"); }
    void batch_end(Learner& l) override {
      if (l.progress().training) note(l, "b");
    }
    void note(const Learner& l, const char* at) {
      seen += std::string(at) + (l.batch().outcome == Outcome::stepped ? "+" : "-") +
              (l.step_applied() ? "y " : "n ");
    }
    std::string seen;
  };
  Training t({2, 2, 2, 2}, {2});
  const auto& asks = t.learn.add<Asks>();
  t.learn.fit(1, 0.1);
  CHECK(asks.seen == "s+y b+y s+n b+n s-n b-n s+y b+y ");
  CHECK_THROWS_WITH_AS((void)t.learn.step_applied(),
                       doctest::Contains("step_applied may be called only in step_end, batch_end"),
                       std::logic_error);
}
