#pragma once
#include "framework/distributed/communicator.h"
#include "framework/learner/callback.h"
#include "framework/learner/exchange.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

struct DataParallelOptions {
  double bucket_mb = 4;     ///< megabytes of gradients that are summed at once
  Wire wire = Wire::f32;    ///< the type in which gradients are summed
  bool sync_bn = false;     ///< BatchNorm normalizes the samples of all ranks as one batch
  bool overlap = true;      ///< sums gradients during the backward pass
  double timeout = 300;     ///< seconds until a rank that does not answer ends all; 0: never
  std::int64_t verify = 1;  ///< epochs between comparisons of the ranks' weights; 0: never
};

/// Trains one model with several processes, the ranks: each computes its share of the rows of every
/// batch. The number of ranks changes the speed and nothing else: the batch size counts the samples
/// of all ranks, gradients, running statistics, losses and metrics belong to whole batches, and all
/// ranks have the same weights, to the bit, after every step. A rank starts with the weights and
/// the optimizer's state of rank 0.
///
/// Every rank makes the same calls of the Learner (`fit`, `validate`, `get_preds`, ...) with the
/// same data. BatchNorm normalizes each share by itself, and the whole batch with `sync_bn`, at the
/// price of two small exchanges for each layer and batch.
class DataParallel final : public Callback {
 public:
  /// Joins the processes that a launcher (mpirun, srun) started together with this one; without a
  /// launcher it is alone. Throws UsageError for options that make no sense, and as
  /// `ranks_of_process` does.
  explicit DataParallel(const DataParallelOptions& options = {});
  /// Borrows the communicator; `timeout` is for the GPUs. All ranks do this together.
  explicit DataParallel(Communicator& communicator, const DataParallelOptions& options = {});
  ~DataParallel() override;

  [[nodiscard]] std::string_view name() const override { return "data_parallel"; }
  [[nodiscard]] int order() const override { return order::kDataParallel; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Null with one rank, which then trains as without this callback.
  [[nodiscard]] Exchange* exchange() override { return exchange_.get(); }
  /// Throws UsageError for a GPU if there are several ranks, and for a CPU if they cannot sum on
  /// it.
  void attached(Learner& learn) override;
  void train_begin(Learner& learn) override;
  /// Throws RanksError that names a rank whose weights differ.
  void epoch_end(Learner& learn) override;

 private:
  DataParallel(Communicator* communicator, const DataParallelOptions& options);

  std::int64_t verify_;
  Communicator* host_ = nullptr;  // null with one rank
  std::chrono::milliseconds deadline_{};
  ExchangeOptions exchange_options_;
  std::unique_ptr<Communicator> device_;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace learn::callbacks
