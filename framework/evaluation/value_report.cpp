#include "framework/evaluation/value_report.h"

#include "framework/core/error.h"

#include <cmath>
#include <limits>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double r2_of(double squared_errors, double squared_distances, std::size_t samples) {
  if (samples < 2 || std::isnan(squared_errors)) return kNaN;
  if (squared_distances == 0) return squared_errors == 0 ? 1 : 0;
  return 1 - squared_errors / squared_distances;
}

}  // namespace

ValueReport value_report(std::span<const float> predictions,
                         std::int64_t values,
                         std::span<const float> targets) {
  const auto columns = static_cast<std::size_t>(values);
  check(values >= 1 && predictions.size() == targets.size() && predictions.size() % columns == 0,
        "{} predictions and {} targets for samples of {} values",
        predictions.size(),
        targets.size(),
        values);
  const std::size_t samples = predictions.size() / columns;
  const double n = samples > 0 ? static_cast<double>(samples) : kNaN;
  ValueReport report;
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0, absolute = 0, squared = 0, distances = 0;
    for (std::size_t i = c; i < targets.size(); i += columns) sum += double{targets[i]};
    const double mean = sum / n;
    for (std::size_t i = c; i < targets.size(); i += columns) {
      const double error = double{predictions[i]} - double{targets[i]};
      absolute += std::abs(error);
      squared += error * error;
      distances += (double{targets[i]} - mean) * (double{targets[i]} - mean);
    }
    report.values.push_back({.errors = {.mae = absolute / n,
                                        .rmse = std::sqrt(squared / n),
                                        .r2 = r2_of(squared, distances, samples)},
                             .mean = mean,
                             .deviation = std::sqrt(distances / n)});
    const ValueErrors& errors = report.values.back().errors;
    report.mean.mae += errors.mae / static_cast<double>(columns);
    report.mean.rmse += errors.rmse / static_cast<double>(columns);
    report.mean.r2 += errors.r2 / static_cast<double>(columns);
  }
  return report;
}

}  // namespace learn
