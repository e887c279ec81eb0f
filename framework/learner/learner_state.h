#pragma once
#include "framework/autograd/tape.h"
#include "framework/core/dtype.h"
#include "framework/interfaces/batch.h"
#include "framework/kernels/common/step_control.h"
#include "framework/learner/fit_progress.h"
#include "framework/learner/loss_meter.h"
#include "framework/metrics/metric.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// Means over the samples of the last training and validation pass, of the batches that were not
/// cancelled; NaN without any.
struct PassResults {
  double train_loss = std::numeric_limits<double>::quiet_NaN();
  double valid_loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t valid_samples = 0;  ///< that `valid_loss` is the mean over
  /// Updates of the training pass that the device did not make, because a gradient was not finite.
  /// Equally many losses that are not finite are left out of `train_loss`.
  std::int64_t skipped_steps = 0;
  /// Metrics of the last validation pass: the learner's, then those of callbacks.
  std::vector<std::pair<std::string, double>> metrics;
  /// Metrics of the last training pass, "train_" before their names; none unless
  /// `LearnerOptions::train_metrics`.
  std::vector<std::pair<std::string, double>> train_metrics;
};

/// Everything that a Learner keeps from one call to the next, except its parts: model, optimizer
/// and callbacks. A Sandbox stores it as a whole.
struct LearnerState {
  /// How the next fit starts; used up by it.
  struct NextFit {
    /// The training source has a place inside an epoch that was loaded with a checkpoint.
    bool place_loaded = false;
    /// Hyper-parameters of all parameter groups, as loaded, if the fit continues the saved one;
    /// empty for a new fit.
    std::vector<GroupHypers> hypers;
  };

  /// Returns a copy with these settings and position, without a pass in progress, for which the
  /// next fit is new.
  [[nodiscard]] LearnerState without_fit() const;

  BatchSources data;
  FitProgress progress;
  PassResults results;
  LossMeter losses;        ///< of the training pass, which may be part of a saved fit
  LossMeter valid_losses;  ///< of the other passes
  std::optional<MetricPasses> train_metrics;  ///< of the training pass, if they are measured
  std::vector<GroupHypers> fit_hypers;        ///< at the start of the fit, before any schedule
  NextFit next;
  /// Names in the ParamStore, of callbacks added for one fit.
  std::vector<std::string> fit_states;
  std::optional<DType> autocast;
  ForwardMode training_mode = ForwardMode::train;
};

}  // namespace learn
