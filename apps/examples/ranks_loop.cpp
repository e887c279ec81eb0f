// A custom loop in several processes, without a Learner: mpirun -n 2 ranks_loop. One process trains
// alone.
#include "apps/examples/quadrants.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/distributed/communicator_library.h"
#include "framework/kernels/step/step.h"
#include "framework/optim/adam.h"
#include "framework/optim/rank_gradients.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  Communicator* const ranks = ranks_of_process();  // null: this process is alone
  const Share share = ranks == nullptr
                          ? Share{}
                          : Share{.rank = ranks->place().rank, .ranks = ranks->place().ranks};
  Context ctx({.device = Device::cpu()});  // all ranks draw the same weights
  const data::Dataset set = examples::points(2048);
  data::Loader data(ctx, set, {.shuffle = true});
  (void)data.set_share(share);
  nn::Model model = examples::net();
  model.params->materialize(ctx);
  const auto optimizer = optim::adam({.lr = 0.01F})(*model.params);
  Tape tape(ctx);
  for (int epoch = 0; epoch < 6; ++epoch) {
    Tensor sum = full(ctx.persistent(), {1}, DType::f64, 0);
    data.begin(epoch);
    for (Batch batch; data.next(batch);) {
      tape.reset();
      const Var loss = ops::softmax_cross_entropy((*model.module)(tape.input(batch.x)), batch.y, 0);
      tape.backward(loss);
      const double part =
          static_cast<double>(batch.counted()) / static_cast<double>(batch.samples());
      if (ranks != nullptr) optim::sum_gradients(*ranks, *model.params, part);
      kernels::begin_step(ctx, optimizer->control());
      optimizer->step();
      model.params->begin_gradients();
      sum.span<double>()[0] += part * static_cast<double>(loss.value().item<float>());
    }
    if (ranks != nullptr) {
      ranks->begin_sum(sum);
      ranks->finish();
    }
    const double loss = sum.span<double>()[0] / static_cast<double>(data.batches());
    if (share.rank == 0) fmt::print("epoch {}, loss {:.3f}\n", epoch + 1, loss);
  }
}
