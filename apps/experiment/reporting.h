#pragma once
#include "apps/experiment/experiment.h"

#include <filesystem>
#include <string>

namespace learn {

/// Adds the table of epochs and the progress bar, for a training that writes no file.
void add_progress(Learner& learn, const RunSection& options);

/// Adds all callbacks that report, for a run in `folder`: those named with --callbacks, and the
/// default ones where none of their kind is named. Touches no file before the training starts.
/// Throws UsageError.
void add_reporting(Experiment& experiment,
                   const std::filesystem::path& folder,
                   const std::string& config);

}  // namespace learn
