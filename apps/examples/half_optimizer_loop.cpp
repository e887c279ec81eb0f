// A custom loop with a half model and f32 masters, without a Learner: apex's FP16_Optimizer.
#include "apps/examples/quadrants.h"
#include "framework/amp/half_optimizer.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/optim/adam.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  Context ctx;
  const data::Dataset set = examples::points(2048);
  data::Loader data(ctx, set, {.shuffle = true});
  nn::Model model = examples::net();
  model.params->materialize(ctx);
  const auto optimizer = optim::adam({.lr = 0.01F})(*model.params);
  amp::HalfOptimizer half(*optimizer, {.dynamic_loss_scale = true});
  Tape tape(ctx);
  for (int epoch = 0; epoch < 6; ++epoch) {
    double sum = 0;
    data.begin(epoch);
    for (Batch batch; data.next(batch);) {
      tape.reset();
      const Var x = ops::cast(tape.input(batch.x), DType::f16);
      const Var loss = ops::softmax_cross_entropy((*model.module)(x), batch.y, 0);
      half.backward(loss);
      if (half.clip_master_grads(1) < 0) fmt::print("overflow: this step is skipped\n");
      half.step();
      sum += static_cast<double>(loss.value().item<float>());
    }
    fmt::print("epoch {}, loss {:.3f}\n", epoch + 1, sum / static_cast<double>(data.batches()));
  }
}
