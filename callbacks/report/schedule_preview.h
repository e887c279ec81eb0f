#pragma once
#include "framework/drawing/plot.h"
#include "framework/learner/param_scheduler.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// The planned values of hyper-parameters in a training.
struct SchedulePreview {
  static constexpr std::int64_t kRows = 11;  ///< in a table
  struct Line {
    Hyper hyper = Hyper::lr;
    int layer_group = -1;        ///< -1: all
    std::vector<double> values;  ///< at `batches`
    bool scheduled = false;      ///< otherwise constant
  };
  std::int64_t epochs = 0;
  std::int64_t batches_per_epoch = 0;
  std::vector<std::int64_t> batches;  ///< counted from 0, includes the first and the last
  std::vector<Line> lines;

  /// Returns a panel for each hyper-parameter.
  [[nodiscard]] plot::Figure figure(const std::string& title) const;
  /// Returns a table of at most `rows` batches: those at which epochs or equal parts of them start,
  /// and the last. Above it are the peaks of the scheduled values.
  [[nodiscard]] std::string to_string(std::int64_t rows = kRows) const;
};

/// Evaluates all ParamSchedulers of the learner for a fit of `epochs` epochs at
/// `learn.options().lr`, without training: the learning rate, momentum and weight decay of each
/// layer group, and any other scheduled values. A scheduler that counts updates is evaluated as if
/// each batch made one. Throws UsageError unless there is at least one epoch, or if a schedule does
/// not fit the model's layer groups.
[[nodiscard]] SchedulePreview preview_schedule(const Learner& learn, std::int64_t epochs);

}  // namespace learn::callbacks
