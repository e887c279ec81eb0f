#pragma once
#include "framework/autograd/var.h"
#include "framework/tensor/batch.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// What the loop knows at this moment. Handlers read it; those of x, y (in `batch`), pred, loss and
/// seed may be replaced at the events that say so.
struct TrainState {
  std::int64_t epoch = 0;          ///< running epoch, from 0
  std::int64_t epochs = 0;         ///< epochs of the running fit
  std::int64_t batch_in_pass = 0;  ///< running batch of the training or validation pass, from 0
  std::int64_t batches = 0;        ///< batches of the running pass
  bool training = false;           ///< false in a validation pass

  /// Two clocks, never mixed: training batches seen, and updates applied, both since the learner
  /// was made. Skipped and accumulated batches advance only the first.
  std::int64_t batch_clock = 0;
  std::int64_t step_clock = 0;
  std::int64_t fit_first_batch = 0;  ///< `batch_clock` at train_begin
  std::int64_t fit_batches = 0;      ///< training batches the running fit plans

  Batch batch;
  Var pred;
  Var loss;  ///< the recorded loss, never scaled
  Tensor
      seed;  ///< gradient of the loss for the backward pass: one device element; undefined means 1

  double train_loss = 0;  ///< mean over the samples of the last training pass
  double valid_loss = 0;  ///< the same of the last validation pass
  std::vector<std::pair<std::string, double>> metrics;  ///< of the last validation pass
};

}  // namespace learn
