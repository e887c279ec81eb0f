#pragma once
#include "apps/learn/training/train_options.h"

#include <string>
#include <vector>

namespace learn::cli {

/// `learn train`, options resolved; `argv` goes into the record. Returns the exit code: 0, 7 if the
/// loss became infinite or NaN, 128 + n if signal n ended it. Where memory runs out in the first
/// epoch, the batch size that is recorded may be a smaller one: `options` say so then. `table` is
/// that of `options`. Throws Error.
int train(TrainOptions& options, const OptionTable& table, const std::vector<std::string>& argv);

}  // namespace learn::cli
