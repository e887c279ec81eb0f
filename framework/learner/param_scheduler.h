#pragma once
#include "framework/core/function_ref.h"
#include "framework/learner/callback.h"
#include "framework/optim/learning_rates.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn {

/// Hyper-parameters that a schedule can set.
enum class Hyper : std::uint8_t { lr, momentum, weight_decay, dampening, beta2, eps };
[[nodiscard]] std::string_view name_of(Hyper hyper) noexcept;
[[nodiscard]] float value_of(const GroupHypers& hypers, Hyper hyper) noexcept;
/// All of them, as options name them.
[[nodiscard]] std::vector<std::pair<std::string, Hyper>> hypers_by_name();

/// Counter that a schedule uses: training batches, or updates applied.
enum class Clock : std::uint8_t { batch, step };

/// A hyper-parameter and its course over a fit: one schedule for all layer groups, or one per
/// group.
struct ScheduledHyper {
  Hyper hyper = Hyper::lr;
  std::vector<optim::Schedule> schedules;
  /// Layer groups whose value is 0 at the start of the fit keep it, because their optimizer does
  /// not use it.
  bool where_used = false;
};

/// Returns the schedules of `course` for the learning rate of each layer group, and for the
/// momentum (Adam: beta1) if it schedules that and the optimizer has one. Throws the errors of
/// `LearningRates::spread`.
[[nodiscard]] std::vector<ScheduledHyper> scheduled(const optim::LearningRates& lrs,
                                                    int layer_groups,
                                                    FunctionRef<optim::Course(double lr)> course);

/// Sets hyper-parameters at each training batch from schedules of the fit's progress, t = batches
/// (or updates) so far / those planned, in [0,1). At the end of the fit, even after an error, they
/// are restored. It is in framework/learner because `fit_one_cycle` and `fit_flat_cos` add one
/// during the fit; the registry of callbacks/ makes it available by name.
///
/// With Clock::step a batch that is skipped or accumulated does not advance the schedule. The
/// planned number of updates is `FitProgress::fit_steps`.
class ParamScheduler final : public Callback {
 public:
  /// Throws UsageError if there is nothing to schedule, or one hyper-parameter twice.
  explicit ParamScheduler(std::vector<ScheduledHyper> scheduled,
                          Clock clock = Clock::batch,
                          std::string name = "param_scheduler");

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int order() const override { return order::kParamScheduler; }
  [[nodiscard]] std::vector<std::string> claims() const override;

  /// Sets the scheduled hyper-parameters of all parameter groups to their values at progress `t`,
  /// in a fit with the initial values `before`; with `decay_bn_bias`, weight decay applies to all
  /// groups. Throws UsageError for another number of schedules than there are layer groups.
  void set(std::vector<GroupHypers>& hypers,
           const std::vector<GroupHypers>& before,
           bool decay_bn_bias,
           double t) const;
  [[nodiscard]] const std::vector<ScheduledHyper>& scheduled() const noexcept { return scheduled_; }

  void train_begin(Learner& learn) override;
  void batch_begin(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  void check_layer_groups(std::size_t layer_groups) const;
  void restore(Learner& learn);

  std::vector<ScheduledHyper> scheduled_;
  Clock clock_;
  std::string name_;
  std::vector<GroupHypers> before_;  // per parameter group, while a fit runs
};

}  // namespace learn
