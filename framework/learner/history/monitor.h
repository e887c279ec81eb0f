#pragma once
#include "framework/interfaces/state_visitor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

class Learner;

/// Direction of improvement of a monitored value; `automatic`: down if its name contains "loss" or
/// "error", or is "ece", "mae" or "rmse", otherwise up.
enum class Better : std::uint8_t { automatic, lower, higher };
/// "auto", "min" and "max", as options name them.
[[nodiscard]] std::vector<std::pair<std::string, Better>> better_by_name();

/// A value at the end of an epoch, and its best so far.
class Monitor {
 public:
  /// `name`: "valid_loss", "train_loss", or one of `Learner::metric_names`. Throws UsageError
  /// unless `min_delta` is finite and not negative.
  explicit Monitor(std::string name, Better better = Better::automatic, double min_delta = 0);

  /// Throws UsageError with the known names if the learner will not have this value.
  void check_known(const Learner& learn) const;
  /// NaN if unknown, for instance because validation was cancelled.
  [[nodiscard]] double value(const Learner& learn) const;
  /// Takes a value; true if it is better than the best so far by more than `min_delta`. One that is
  /// not finite never is; the first finite one always.
  bool improves(double value);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool lower_is_better() const noexcept { return lower_; }
  [[nodiscard]] const std::optional<double>& best() const noexcept { return best_; }
  void reset() noexcept { best_.reset(); }
  /// The best so far.
  void visit_state(StateVisitor& visitor);

 private:
  std::string name_;
  bool lower_;
  double min_delta_;
  std::optional<double> best_;
};

}  // namespace learn
