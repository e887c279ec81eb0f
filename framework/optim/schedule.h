#pragma once
#include <functional>
#include <vector>

/// Schedules are pure functions of progress `t` in [0,1].
namespace learn::optim {

using Schedule = std::function<double(double t)>;

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

}  // namespace schedules
}  // namespace learn::optim
