#include "framework/autograd/tape.h"
#include "framework/tensor/factory.h"
#include "models/registry.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;

TEST_CASE("every model that has the option drops other values in each batch, and none without it") {
  int tried = 0;
  for (const std::string& name : models::model_registry().names()) {
    if (models::model_registry().configure(name).options.find("dropout") == nullptr) continue;
    CAPTURE(name);
    ++tried;
    for (const bool drops : {true, false}) {
      CAPTURE(drops);
      Context ctx({.threads = 2, .seed = 3});
      nn::Model model = models::make_model(name + ":width=4,dropout=" + (drops ? "0.5" : "0"),
                                           {.classes = 7, .input = {8, 8, 3}});
      model.params->materialize(ctx);
      const Tensor images = uniform(ctx.step(), {4, 8, 8, 3}, DType::f32, -2, 2, 5);
      const auto outputs = [&](ForwardMode mode, std::uint64_t batch) {
        Tape tape(ctx, {.mode = mode, .grad = false, .batch = batch});
        return (*model.module)(tape.input(images)).value();
      };
      const Tensor first = outputs(ForwardMode::train, 1);
      CHECK(same_bits(first, outputs(ForwardMode::train, 1)));
      CHECK(same_bits(first, outputs(ForwardMode::train, 2)).equal == !drops);
      CHECK(same_bits(outputs(ForwardMode::eval, 1), outputs(ForwardMode::eval, 2)));
    }
  }
  CHECK(tried >= 2);
}
