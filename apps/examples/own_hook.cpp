// A custom hook: prints the output of each module, and the location of the largest gradient.
#include "data/loading/loaders.h"
#include "framework/autograd/tape.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

using namespace learn;

float largest(Context& ctx, const Tensor& values) {
  const Tensor host = to_host(ctx, values);
  float found = 0;
  for (const float value : host.span<float>()) found = std::max(found, std::abs(value));
  return found;
}

class Hook final : public ForwardObserver, public BackwardObserver {
 public:
  explicit Hook(Context& ctx) : ctx_(ctx) {}
  void forwarded(const nn::Module& module, const Var&, const Var& out) override {
    fmt::print("{:<10} up to {:.3f}\n", module.path(), largest(ctx_, out.value()));
  }
  void reached(std::uint32_t, std::string_view operation, Tensor& gradient) override {
    fmt::print("  gradient of {:<14} up to {:.5f}\n", operation, largest(ctx_, gradient));
  }

 private:
  Context& ctx_;
};

int main() {
  Context ctx;
  data::Loaders data(ctx, data::load("synthetic10", {.train_limit = 64, .valid_limit = 64}));
  Learner learn(ctx, models::make_model("mlp", data), data);
  Hook hook(ctx);
  learn.tape().observe(&hook);
  learn.tape().observe_backward(&hook);
  learn.fit(1, 0.01);
}
