#include "framework/learner/metric_registry.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace learn {
namespace {

/// A metric of one class, or the mean over the classes.
void add_of_classes(MetricRegistry& registry,
                    const char* name,
                    const char* help,
                    Metric (*make)(std::optional<int>)) {
  registry.add(
      name,
      help,
      std::optional<int>(),
      [](OptionTable& t, std::optional<int>& of_class) {
        t.number("class", of_class, kNotNegative, "N", "of this class alone").when_absent =
            "the mean";
      },
      [make](const std::optional<int>& of_class) { return make(of_class); });
}

}  // namespace

MetricRegistry metric_registry() {
  MetricRegistry registry("metric");
  registry.add("accuracy", "share of right predictions", &metrics::accuracy);
  registry.add("error_rate", "share of wrong predictions", &metrics::error_rate);
  constexpr int kTop = 5;
  registry.add(
      "top_k",
      "share of samples whose class is among the k most probable",
      kTop,
      [](OptionTable& t, int& k) { t.number("k", k, kCount, "N", "how many"); },
      [](int k) { return metrics::top_k(k); });
  add_of_classes(registry,
                 "precision",
                 "of what was taken for a class, the share that is of it",
                 &metrics::precision);
  add_of_classes(
      registry, "recall", "of a class, the share that was taken for it", &metrics::recall);
  add_of_classes(registry, "f1", "harmonic mean of precision and recall", &metrics::f1);
  registry.add("kappa", "Cohen's kappa: agreement beyond chance", &metrics::kappa);
  registry.add("mcc", "Matthews' correlation coefficient", &metrics::mcc);
  registry.add("auc", "area under the ROC curve, each class against the rest", &metrics::auc);
  registry.add(
      "ece",
      "expected calibration error: distance of probability and share of right ones",
      metrics::kCalibrationBins,
      [](OptionTable& t, int& bins) {
        t.number("bins", bins, {.low = 1, .high = 10000}, "N", "of equal width");
      },
      [](int bins) { return metrics::ece(bins); });
  return registry;
}

std::vector<Metric> make_metrics(std::span<const std::string> specs) {
  const MetricRegistry registry = metric_registry();
  std::vector<Metric> all;
  for (const std::string& spec : specs) {
    Metric metric = registry.make(spec)();
    if (std::ranges::find(all, metric.name, &Metric::name) != all.end())
      fail<UsageError>("metric '{}' is given twice", metric.name);
    all.push_back(std::move(metric));
  }
  return all;
}

}  // namespace learn
