#pragma once
#include "framework/core/options/registry.h"
#include "framework/metrics/metric.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

using MetricRegistry = Registry<Metric()>;

/// The metrics that are made by name: "accuracy", "top_k:k=3".
[[nodiscard]] MetricRegistry metric_registry();

/// The metrics that specs describe, in their order. Throws UsageError for an unknown one, a bad
/// option, and two of one name.
[[nodiscard]] std::vector<Metric> make_metrics(std::span<const std::string> specs);

/// Throws UsageError for a metric that is for other targets than those of `whose`, 'photos' say; it
/// lists the registry's that fit.
void check_targets(std::span<const Metric> metrics, TargetKind targets, std::string_view whose);

}  // namespace learn
