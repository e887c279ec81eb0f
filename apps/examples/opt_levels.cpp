// One training at each of apex's optimization levels, without a Learner: amp::initialize.
#include "apps/examples/quadrants.h"
#include "framework/amp/initialize.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/optim/adam.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  Context ctx;
  const data::Dataset set = examples::points(2048);
  data::Loader data(ctx, set, {.shuffle = true});
  for (const amp::OptLevel& level : amp::kOptLevels) {
    nn::Model model = examples::net();
    model.params->materialize(ctx);
    const auto optimizer = optim::adam({.lr = 0.01F})(*model.params);
    amp::Amp amp = amp::initialize(model, *optimizer, level.name);
    Tape tape(ctx);
    double sum = 0;
    for (int epoch = 0; epoch < 6; ++epoch) {
      sum = 0;
      data.begin(epoch);
      for (Batch batch; data.next(batch);) {
        tape.reset();
        const Var loss = ops::softmax_cross_entropy(amp.forward(tape, batch.x), batch.y, 0);
        amp.backward(loss);
        amp.step();
        sum += static_cast<double>(loss.value().item<float>());
      }
    }
    fmt::print("{} ({}): loss {:.3f}\n",
               level.name,
               level.help,
               sum / static_cast<double>(data.batches()));
  }
}
