#pragma once
#include "apps/experiment/experiment.h"

#include <filesystem>
#include <string>

namespace learn {

/// The table of epochs and the bar: what a training shows that writes no file.
void add_progress(Learner& learn, const RunSection& options);

/// All callbacks that report, for a run in `folder`: those named with --callbacks, and learn's own
/// wherever there is none of their kind. Touches no file before the training begins. Throws
/// UsageError.
void add_reporting(Experiment& experiment,
                   const std::filesystem::path& folder,
                   const std::string& config);

}  // namespace learn
