#pragma once
#include "framework/core/registry.h"
#include "framework/learner/metric.h"

#include <span>
#include <string>
#include <vector>

namespace learn {

using MetricRegistry = Registry<Metric()>;

/// The metrics that are made by name: "accuracy", "top_k:k=3".
[[nodiscard]] MetricRegistry metric_registry();

/// Those that specs describe, in their order. Throws UsageError for an unknown one, a bad option,
/// and two of one name.
[[nodiscard]] std::vector<Metric> make_metrics(std::span<const std::string> specs);

}  // namespace learn
