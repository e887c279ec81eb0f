#include "framework/metrics/metric_registry.h"

#include "framework/core/error.h"
#include "framework/interfaces/refuse_targets.h"

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

/// A metric of labels that are predicted above a probability.
void add_of_labels(MetricRegistry& registry,
                   const char* name,
                   const char* help,
                   Metric (*make)(double)) {
  registry.add(
      name,
      help,
      kLabelThreshold,
      [](OptionTable& t, double& threshold) {
        t.number(
            "threshold", threshold, kShare, "P", "probability above which a label is predicted");
      },
      [make](double threshold) { return make(threshold); });
}

}  // namespace

MetricRegistry metric_registry() {
  MetricRegistry registry("metric");
  registry.add("accuracy", "share of correct predictions", &metrics::accuracy);
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
                 "share of the predictions of a class that are correct",
                 &metrics::precision);
  add_of_classes(registry,
                 "recall",
                 "share of the samples of a class that are predicted correctly",
                 &metrics::recall);
  add_of_classes(registry, "f1", "harmonic mean of precision and recall", &metrics::f1);
  registry.add("kappa", "Cohen's kappa: agreement beyond chance", &metrics::kappa);
  registry.add("mcc", "Matthews' correlation coefficient", &metrics::mcc);
  registry.add("auc", "area under the ROC curve, each class against the rest", &metrics::auc);
  registry.add(
      "ece",
      "expected calibration error: mean difference of confidence and accuracy",
      metrics::kCalibrationBins,
      [](OptionTable& t, int& bins) {
        t.number("bins", bins, {.low = 1, .high = 10000}, "N", "of equal width");
      },
      [](int bins) { return metrics::ece(bins); });
  add_of_labels(registry,
                "accuracy_multi",
                "several labels: share of correct decisions over all labels",
                &metrics::accuracy_multi);
  add_of_labels(registry,
                "precision_multi",
                "several labels: precision, mean over the labels",
                &metrics::precision_multi);
  add_of_labels(registry,
                "recall_multi",
                "several labels: recall, mean over the labels",
                &metrics::recall_multi);
  add_of_labels(
      registry, "f1_multi", "several labels: F1, mean over the labels", &metrics::f1_multi);
  registry.add("average_precision",
               "several labels: average precision, mean over the labels (mAP)",
               &metrics::average_precision);
  registry.add("mae", "real numbers: mean absolute error", &metrics::mae);
  registry.add("rmse", "real numbers: root of the mean squared error", &metrics::rmse);
  registry.add("r2", "real numbers: share of the variance that is explained", &metrics::r2);
  return registry;
}

void check_targets(std::span<const Metric> metrics, TargetKind targets, std::string_view whose) {
  for (const Metric& metric : metrics)
    if (metric.targets && *metric.targets != targets)
      refuse_targets(metric_registry(), metric.name, *metric.targets, whose, targets);
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
