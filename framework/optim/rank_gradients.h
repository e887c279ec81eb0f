#pragma once
#include "framework/distributed/communicator.h"
#include "framework/nn/param_store.h"

/// Sums over ranks, processes that train one model together, for loops without a Learner.
namespace learn::optim {

/// Joins the gradients of all ranks' shares of a batch into the gradients of the whole batch,
/// before they are unscaled or clipped. Each rank has computed a mean over its share, which is
/// `part` of the batch, 0 to 1: its rows divided by all rows. Half gradients are summed in f32 and
/// rounded once. Parameters that took no part have gradients of zero then. Also joins what the
/// batch changed in the running statistics. All ranks call it at once, with the same trained
/// parameters. Throws UsageError if no gradient is there, as before a backward pass, or after half
/// gradients were unscaled.
void sum_gradients(Communicator& ranks, nn::ParamStore& store, double part);

/// The changes of running statistics since they were committed, on their way between ranks.
class RankStatistics {
 public:
  /// Starts to sum them over ranks, this rank's times `part`.
  void begin(Communicator& ranks, nn::ParamStore& store, double part);
  /// After `Communicator::finish`: statistics that no rank changed keep their bits.
  void end(nn::ParamStore& store);

 private:
  Tensor changes_;
};

}  // namespace learn::optim
