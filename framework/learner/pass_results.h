#pragma once
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// Means over the samples of the last training and validation pass, of the batches that were not
/// cancelled; NaN if there were none.
struct PassResults {
  double train_loss = 0;
  double valid_loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  ///< of the last validation pass
};

}  // namespace learn
