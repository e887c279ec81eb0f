// Trains with all processes that a launcher starts: mpirun -n 2 build/release/bin/train_parallel
#include "apps/examples/quadrants.h"
#include "framework/distributed/communicator_library.h"
#include "framework/learn.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  const Communicator* const ranks = ranks_of_process();  // null: this process is alone
  const RankPlace place = ranks != nullptr ? ranks->place() : RankPlace{};
  const Report report = place.rank == 0 ? Report::progress : Report::off;
  Context ctx({.device = Device::cpu()});
  data::Loaders data(ctx, {examples::points(4000), examples::points(500)});
  Learner learn(ctx,
                models::make_model("mlp:width=64", data),
                data,
                {.metrics = {metrics::accuracy()}, .report = report});
  learn.add<callbacks::DataParallel>();
  learn.fit_one_cycle(5, 0.1);
  if (place.rank == 0) fmt::print("ranks: {}\n", place.ranks);
}
