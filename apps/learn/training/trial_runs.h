#pragma once
#include "apps/experiment/options.h"

namespace learn::cli {

/// `learn train --dry-run`: a second or two of training and of validation, then what the whole
/// would take. Writes nothing. Returns the exit code.
int dry_run(ExperimentOptions options);

/// `learn train --fast-dev-run`: five batches of each, with the table. Writes nothing.
int fast_dev_run(ExperimentOptions options);

/// `learn train --params`: what the training would do with each parameter, and nothing else.
int show_params(ExperimentOptions options);

}  // namespace learn::cli
