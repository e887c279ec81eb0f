#pragma once
#include <cstdint>
#include <functional>
#include <vector>

/// Schedules are pure functions of progress `t` in [0,1].
namespace learn::optim {

using Schedule = std::function<double(double t)>;

/// A function of a training's progress.
struct Course {
  Schedule lr;
  Schedule momentum;  ///< empty: unchanged
};

namespace schedules {

[[nodiscard]] Schedule constant(double value);
[[nodiscard]] Schedule linear(double start, double end);
/// end + (start - end) / 2 * (1 + cos(pi t)).
[[nodiscard]] Schedule cosine(double start, double end);
/// start * (end / start)^t; both must be positive. Throws UsageError.
[[nodiscard]] Schedule exponential(double start, double end);
/// end + (start - end) * (1 - t)^power.
[[nodiscard]] Schedule polynomial(double start, double end, double power);

/// Schedule i covers the share `pcts[i]` of the whole, rescaled to its own [0,1]. Throws UsageError
/// unless there are as many shares as schedules, none is negative and they add up to 1.
[[nodiscard]] Schedule combine(const std::vector<double>& pcts, const std::vector<Schedule>& parts);
/// Value `values[i]` from milestone `milestones[i-1]` on (t in [0,1], ascending). Throws
/// UsageError.
[[nodiscard]] Schedule piecewise(const std::vector<double>& milestones,
                                 const std::vector<double>& values);

// Policies: schedules with the constants of the systems they come from.

/// A rise to lr_max over `pct_start` of the training, then a cosine down; momentum the other way.
struct OneCycleShape {
  double pct_start = 0.25;
  double div = 25;         ///< first lr = lr_max / div
  double div_final = 1e5;  ///< last lr = lr_max / div_final
  double mom_max = 0.95;
  double mom_min = 0.85;
  bool linear_rise = false;  ///< the rise is a line and not a cosine

  /// Rounds the rise down to whole steps, int(steps * pct_start): dev_nb and fastai 1 count so,
  /// fastai 2 does not.
  [[nodiscard]] OneCycleShape snapped(std::int64_t steps) const;
};

/// The development notebooks (nb_004a): linear rise, end at lr_max / 25 / 1e4.
inline constexpr OneCycleShape kOneCycleDevNb{0.3, 25, 25e4, 0.95, 0.85, true};
/// fastai 1: cosine rise, end at lr_max / 2.5e5.
inline constexpr OneCycleShape kOneCycleV1{0.3, 25, 25e4, 0.95, 0.85, false};
/// fastai 2: cosine rise over a quarter, end at lr_max / 1e5.
inline constexpr OneCycleShape kOneCycleV2{};

/// Throws UsageError for a share outside of [0, 1] or a divisor that is not positive.
[[nodiscard]] Course one_cycle(double lr_max, const OneCycleShape& shape = kOneCycleV2);

/// `value`, then from `pct_start` on a cosine to value / div_final (fastai 2's fit_flat_cos).
[[nodiscard]] Schedule flat_cosine(double value, double pct_start = 0.75, double div_final = 1e5);

/// Warm restarts: `cycles` cycles, the first `cycle_len` epochs long, each `cycle_mult` times as
/// long as the one before (fastai 2's fit_sgdr).
struct SgdrShape {
  std::int64_t cycles = 3;
  std::int64_t cycle_len = 1;
  std::int64_t cycle_mult = 2;
};
/// Epochs of all cycles together. Throws UsageError unless all three numbers are at least 1.
[[nodiscard]] std::int64_t sgdr_epochs(const SgdrShape& shape);
/// In each cycle a cosine from `start` to `end`.
[[nodiscard]] Schedule sgdr(double start, double end, const SgdrShape& shape);

/// A line from start_factor * after(0) to after(0) over the share `pct`, then `after` over the
/// rest.
[[nodiscard]] Schedule warm_up(double pct, double start_factor, const Schedule& after);

}  // namespace schedules
}  // namespace learn::optim
