// A custom loop under autocast, without a Learner: torch.amp's, line by line.
#include "apps/examples/quadrants.h"
#include "framework/amp/grad_scaler.h"
#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/optim/adam.h"
#include "framework/optim/gradients.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  Context ctx;
  const data::Dataset set = examples::points(2048);
  data::Loader data(ctx, set, {.shuffle = true});
  nn::Model model = examples::net();
  model.params->materialize(ctx);
  const auto optimizer = optim::adam({.lr = 0.01F})(*model.params);
  amp::GradScaler scaler(ctx);
  Tape tape(ctx);
  for (int epoch = 0; epoch < 6; ++epoch) {
    double sum = 0;
    data.begin(epoch);
    for (Batch batch; data.next(batch);) {
      tape.reset();
      const AutocastRegion region(tape, DType::f16);
      const Var pred = (*model.module)(tape.input(batch.x));
      const Var loss = ops::softmax_cross_entropy(pred, batch.y, 0);
      tape.backward(scaler.scale(loss));
      scaler.unscale(*optimizer);  // only to clip: step would unscale, too
      Tensor norm = ctx.empty({1}, DType::f32);
      optim::clip_gradient_norm(*model.params, 1, norm, optimizer->control());
      scaler.step(*optimizer);
      scaler.update();
      sum += static_cast<double>(loss.value().item<float>());
    }
    fmt::print("epoch {}, loss {:.3f}\n", epoch + 1, sum / static_cast<double>(data.batches()));
  }
  fmt::print("loss scale {}\n", scaler.read_scale());
}
