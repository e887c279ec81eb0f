#pragma once
#include "data/dataset.h"
#include "framework/core/options/option_table.h"
#include "framework/learner/learner.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace learn {

/// Training options of an experiment: schedule, optimizer, regularization.
struct TrainingSection {
  std::int64_t epochs = 10;
  std::int64_t fine_tune = 0;  ///< epochs after the first one; 0: not fine-tuned
  std::int64_t batch_size = 128;
  std::int64_t accumulate = 1;
  bool shrink_batch = true;
  std::vector<double> lr;              ///< empty: the optimizer's default
  std::string schedule = "one-cycle";  ///< a spec of the registry
  std::optional<double> warmup;        ///< of the schedule
  std::string optimizer = "adamw";     ///< a spec of the registry
  std::optional<double> momentum;      ///< of the optimizer; the schedule then leaves it alone
  std::optional<double> weight_decay;  ///< of the optimizer
  double clip_norm = 0;
  std::string augment = "basic";
  std::string loss;  ///< a spec of the registry; empty: the default for the targets
  std::vector<std::string> class_weights;  ///< numbers, or "balanced"; empty: none
  double label_smoothing = 0;              ///< of the loss
  double mixup = 0;                        ///< of `MixOptions`
  double cutmix = 0;                       ///< the same
  double ema = 0;                          ///< decay; 0: no average
  std::vector<std::string> metrics;        ///< specs of the registry; empty: the defaults
  bool train_metrics = false;
  /// The default loss and metrics for the data; empty until these are loaded. Not an option.
  std::string usual_loss;
  std::vector<std::string> usual_metrics;

  void declare(OptionTable& table);
  /// Throws UsageError for options that the optimizer, the schedule or the loss does not have, and
  /// for two metrics with the same name.
  void check() const;
  /// Sets the defaults that depend on the data.
  void know(const data::Dataset& train);
  /// Unsets values of a file or a saved run that have no effect together with the options that are
  /// `given`, unless they are given themselves.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Halves the batch size and doubles the number of batches per update, which keeps the gradients
  /// the same. Returns false if a batch is one image.
  bool halve_batch();
  /// Returns the learning rates: the given ones, or the optimizer's default. When fine-tuning they
  /// are the ones for the time when all layer groups are trained.
  [[nodiscard]] optim::LearningRates learning_rates() const;
  /// Returns loss, optimizer and metrics for such data. `flat`: update all weights in one pass.
  /// Throws UsageError for options that do not apply to the targets, DataError for classes that
  /// cannot be balanced.
  [[nodiscard]] LearnerOptions learner_options(Context& ctx,
                                               bool flat,
                                               const data::Dataset& train) const;
  /// Returns fine_tune's base rate: the given one, or fastai's.
  [[nodiscard]] double base_rate() const;
  /// Adds schedule, mixing, accumulation, clipping and average.
  void add_callbacks(Learner& learn) const;

 private:
  void add_schedule(Learner& learn) const;
};

/// Declares --metrics: specs of `metric_registry`, separated by commas (a metric has at most one
/// option, so a spec contains no comma).
Option& declare_metric_specs(OptionTable& table, std::vector<std::string>& field, std::string help);

}  // namespace learn
