#include "framework/core/error.h"
#include "framework/evaluation/calibration.h"
#include "framework/evaluation/class_report.h"
#include "framework/evaluation/label_report.h"
#include "framework/evaluation/probabilities.h"
#include "framework/evaluation/roc_auc.h"
#include "framework/evaluation/top_losses.h"
#include "framework/evaluation/value_report.h"
#include "tests/golden/evaluation_values.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 1e-13;  // of sums of a few dozen doubles, in another order

void check_equal(double value, double wanted) {
  if (std::isnan(wanted))
    CHECK(std::isnan(value));
  else
    CHECK(value == doctest::Approx(wanted).epsilon(kRounding));
}

ConfusionMatrix confusion_of(const golden::Evaluation& e) {
  std::vector<std::int64_t> guesses;
  const auto classes = static_cast<std::size_t>(e.classes);
  for (std::size_t i = 0; i < e.truths.size(); ++i)
    guesses.push_back(predicted_class(std::span(e.logits).subspan(i * classes, classes)));
  ConfusionMatrix matrix;
  matrix.add(e.classes, e.truths, guesses);
  return matrix;
}

void check_scores(const ClassScores& scores, const std::vector<double>& wanted) {
  check_equal(scores.precision, wanted[0]);
  check_equal(scores.recall, wanted[1]);
  check_equal(scores.f1, wanted[2]);
}

}  // namespace

TEST_CASE("a confusion matrix agrees with scikit-learn") {
  for (const golden::Evaluation& e : golden::kEvaluations) {
    CAPTURE(e.name);
    const ConfusionMatrix matrix = confusion_of(e);
    check_equal(matrix.accuracy(), e.accuracy);
    check_equal(matrix.kappa(), e.kappa);
    check_equal(matrix.matthews(), e.mcc);
    const ClassReport report = class_report(matrix);
    check_scores(report.macro, e.macro);
    check_scores(report.weighted, e.weighted);
    CHECK(report.macro.support == static_cast<std::int64_t>(e.truths.size()));
    REQUIRE(report.classes.size() == e.each.size());
    for (std::size_t c = 0; c < e.each.size(); ++c) {
      check_scores(report.classes[c], e.each[c]);
      CHECK(static_cast<double>(report.classes[c].support) == e.each[c][3]);
    }
  }
}

TEST_CASE("calibration and areas agree with the golden values") {
  for (const golden::Evaluation& e : golden::kEvaluations) {
    CAPTURE(e.name);
    const Calibration c = calibration(e.logits, e.classes, e.truths);
    check_equal(c.ece, e.ece);
    check_equal(c.mce, e.mce);
    check_equal(c.nll, e.nll);
    check_equal(c.brier, e.brier);
    check_equal(calibration(e.logits, e.classes, e.truths, 7).ece, e.ece_7);
    check_equal(mean_roc_auc(e.logits, e.classes, e.truths), e.auc);
  }
}

TEST_CASE("a sample without a predicted class counts as wrong in every number") {
  // cohen_kappa_score and matthews_corrcoef of scikit-learn 1.9.1 for y_true = [0, 0, 1, 1, 2, 2],
  // y_pred = [0, -1, 1, 0, -1, 2].
  ConfusionMatrix matrix;
  matrix.add(3,
             std::vector<std::int64_t>{0, 0, 1, 1, 2, 2},
             std::vector<std::int64_t>{0, -1, 1, 0, -1, 2});
  check_equal(matrix.accuracy(), 0.5);
  check_equal(matrix.kappa(), 0.3571428571428571);
  check_equal(matrix.matthews(), 0.40032038451271784);
  check_equal(matrix.precision(0), 0.5);
  check_equal(matrix.recall(2), 0.5);
}

TEST_CASE("the most confused pairs come first, then the order of the classes") {
  ConfusionMatrix matrix;
  CHECK(matrix.most_confused().empty());
  matrix.add(3,
             std::vector<std::int64_t>{0, 0, 0, 1, 1, 2, 2, 2, 1},
             std::vector<std::int64_t>{0, 1, 2, 0, 2, 1, 1, 2, -1});
  const std::vector<Confusion> pairs = matrix.most_confused();
  REQUIRE(pairs.size() == 5);
  const auto is = [&](std::size_t i, int truth, int guess, std::int64_t count) {
    return pairs[i].truth == truth && pairs[i].guess == guess && pairs[i].count == count;
  };
  CHECK(is(0, 2, 1, 2));
  CHECK(is(1, 0, 1, 1));
  CHECK(is(2, 0, 2, 1));
  CHECK(is(3, 1, 0, 1));
  CHECK(is(4, 1, 2, 1));
  CHECK(matrix.most_confused(2).size() == 1);
}

TEST_CASE("without samples all numbers are NaN") {
  const ConfusionMatrix nothing;
  CHECK(std::isnan(nothing.accuracy()));
  CHECK(std::isnan(nothing.kappa()));
  CHECK(std::isnan(nothing.matthews()));
  CHECK(std::isnan(class_report(nothing).weighted.f1));
  CHECK(std::isnan(calibration({}, 3, {}).ece));
  CHECK(std::isnan(calibration({}, 3, {}).brier));
  CHECK(std::isnan(mean_roc_auc({}, 3, {})));
  CHECK(top_losses({}, 3).empty());
}

TEST_CASE("equal scores are half in order") {
  const std::vector<bool> mixed{true, false, true, false};
  CHECK(roc_auc(std::vector<double>{1, 1, 1, 1}, mixed) == 0.5);
  CHECK(roc_auc(std::vector<double>{2, 1, 2, 1}, mixed) == 1);
  CHECK(roc_auc(std::vector<double>{1, 2, 1, 2}, mixed) == 0);
  CHECK(roc_auc(std::vector<double>{2, 1, 1, 1}, mixed) == 0.75);
  CHECK(std::isnan(roc_auc(std::vector<double>{2, 1}, {true, true})));
  CHECK(std::isnan(roc_auc(std::vector<double>{2, 1}, {false, false})));
  CHECK(std::isnan(roc_auc(std::vector<double>{2, kNaN}, {false, true})));
  CHECK_THROWS_AS((void)roc_auc(std::vector<double>{2}, mixed), ShapeError);
}

TEST_CASE("a NaN among the logits makes their numbers NaN and is in no bin") {
  const std::vector<float> logits{0, 1, NAN, 3, 2, 0};
  const std::vector<std::int64_t> truths{1, 1, 0};
  const Calibration c = calibration(logits, 2, truths);
  for (const double value : {c.ece, c.mce, c.nll, c.brier, mean_roc_auc(logits, 2, truths)})
    CHECK(std::isnan(value));
  std::int64_t counted = 0;
  for (const CalibrationBin& bin : c.bins) counted += bin.count;
  CHECK(counted == 2);
}

TEST_CASE("inconsistent inputs are refused") {
  const std::vector<float> logits{0, 1, 2, 3};
  const std::vector<std::int64_t> truths{1, 2};
  CHECK_THROWS_WITH_AS((void)calibration(logits, 2, truths),
                       doctest::Contains("sample 1 has class 2, there are 2 classes"),
                       DataError);
  CHECK_THROWS_AS((void)mean_roc_auc(logits, 3, truths), ShapeError);
  CHECK_THROWS_AS((void)calibration(logits, 2, truths, 0), UsageError);
  ConfusionMatrix matrix;
  matrix.add(2, std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0});
  CHECK_THROWS_AS(matrix.add(3, truths, truths), ShapeError);
  CHECK_THROWS_AS(matrix.add(2, truths, std::vector<std::int64_t>{0}), ShapeError);
  CHECK_THROWS_WITH_AS(matrix.add(2, std::vector<std::int64_t>{1}, std::vector<std::int64_t>{5}),
                       doctest::Contains("row 0 has class 5, but there are 2"),
                       DataError);
  CHECK(matrix.samples() == 1);
}

TEST_CASE("a probability on the edge of two bins is in the lower one") {
  // Probabilities of 1/2: of two bins the first.
  const std::vector<float> logits{0, 0, 9, -9};
  const Calibration c = calibration(logits, 2, std::vector<std::int64_t>{0, 0}, 2);
  CHECK(c.bins[0].count == 1);
  CHECK(c.bins[1].count == 1);
  CHECK(c.bins[0].confidence == 0.5);
  CHECK(c.mce == 0.5);
}

TEST_CASE("the calibration error weighs each bin by its predictions") {
  using Bins = std::vector<CalibrationBin>;
  CHECK(expected_calibration_error(Bins{{10, 0.9, 0.8}, {30, 0.5, 0.6}, {0, 0, 1}}) ==
        doctest::Approx(0.1));
  CHECK(expected_calibration_error(Bins{{10, 0.9, 0.8}, {30, 0.5, 0.5}}) == doctest::Approx(0.025));
  CHECK(std::isnan(expected_calibration_error(Bins{{0, 0.5, 0.5}})));
}

TEST_CASE("the softmax of large logits does not overflow nor its logarithm vanish") {
  const std::vector<float> logits{1e5F, 0, -1e5F};
  CHECK(softmax(logits) == std::vector<double>{1, 0, 0});
  CHECK(negative_log_softmax(logits, 2) == 2e5);
  CHECK(negative_log_softmax(logits, 0) == 0);
  for (const double p : softmax(std::vector<float>{1, NAN, 2})) CHECK(std::isnan(p));
}

TEST_CASE("top losses are the largest or the smallest and NaN is the largest of all") {
  const std::vector<float> losses{1, NAN, 3, 3, 0.5F, NAN};
  using Places = std::vector<std::size_t>;
  CHECK(top_losses(losses, 4) == Places{1, 5, 2, 3});
  CHECK(top_losses(losses, 3, false) == Places{4, 0, 2});
  CHECK(top_losses(losses, 99).size() == 6);
}

TEST_CASE("reports of several labels agree with scikit-learn") {
  for (const golden::Labels& e : golden::kLabels) {
    CAPTURE(e.name);
    const LabelReport report = label_report(e.logits, e.labels, e.targets, e.threshold);
    check_equal(report.accuracy, e.accuracy);
    CHECK(report.decisions == static_cast<std::int64_t>(e.logits.size()));
    const auto check_label = [](const LabelScores& scores, const std::vector<double>& wanted) {
      check_equal(scores.precision, wanted[0]);
      check_equal(scores.recall, wanted[1]);
      check_equal(scores.f1, wanted[2]);
      check_equal(scores.average_precision, wanted[3]);
    };
    check_label(report.macro, e.macro);
    REQUIRE(report.labels.size() == e.each.size());
    for (std::size_t c = 0; c < e.each.size(); ++c) {
      check_label(report.labels[c], e.each[c]);
      CHECK(static_cast<double>(report.labels[c].positives) == e.each[c][4]);
      CHECK(static_cast<double>(report.labels[c].predicted) == e.each[c][5]);
    }
  }
}

TEST_CASE("reports of real numbers agree with scikit-learn") {
  for (const golden::Values& e : golden::kValues) {
    CAPTURE(e.name);
    const ValueReport report = value_report(e.predictions, e.values, e.targets);
    const auto check_errors = [](const ValueErrors& errors, const std::vector<double>& wanted) {
      check_equal(errors.mae, wanted[0]);
      check_equal(errors.rmse, wanted[1]);
      check_equal(errors.r2, wanted[2]);
    };
    check_errors(report.mean, e.mean);
    REQUIRE(report.values.size() == e.each.size());
    for (std::size_t c = 0; c < e.each.size(); ++c) {
      check_errors(report.values[c].errors, e.each[c]);
      check_equal(report.values[c].mean, e.each[c][3]);
      check_equal(report.values[c].deviation, e.each[c][4]);
    }
  }
}

TEST_CASE("a NaN predicts no label, is never right, and affects only its own label or value") {
  const std::vector<float> logits{NAN, 1, NAN, -1, 2, 1};
  const std::vector<float> targets{1, 1, 0, 0, 1, 1};
  const LabelReport labels = label_report(logits, 2, targets);
  CHECK(labels.right == 4);
  CHECK(labels.labels[0].predicted == 1);
  CHECK(labels.labels[0].recall == 0.5);
  CHECK(std::isnan(labels.labels[0].average_precision));
  CHECK(labels.labels[1].average_precision == 1);
  CHECK(std::isnan(labels.macro.average_precision));
  CHECK(labels.macro.positives == 4);
  const std::vector<float> edge{0};
  CHECK(label_report(edge, 1, edge).labels[0].predicted == 0);
  const ValueReport values = value_report(logits, 2, targets);
  for (const double v : {values.values[0].errors.mae, values.values[0].errors.r2, values.mean.rmse})
    CHECK(std::isnan(v));
  CHECK(values.values[1].errors.mae == doctest::Approx(1.0 / 3));
  CHECK(values.values[0].mean == doctest::Approx(2.0 / 3));
}

TEST_CASE("labels and values: nothing, and what does not fit together") {
  CHECK(std::isnan(label_report({}, 2, {}).accuracy));
  CHECK(std::isnan(label_report({}, 2, {}).macro.f1));
  CHECK(std::isnan(value_report({}, 2, {}).mean.mae));
  CHECK(std::isnan(value_report({}, 2, {}).values[1].mean));
  const std::vector<float> three{0, 1, 2};
  const std::vector<float> two{0, 1};
  CHECK_THROWS_WITH_AS((void)label_report(three, 2, three),
                       doctest::Contains("3 logits and 3 targets for samples of 2 labels"),
                       ShapeError);
  CHECK_THROWS_AS((void)label_report(two, 1, three), ShapeError);
  CHECK_THROWS_WITH_AS((void)label_report(two, 1, two, 1),
                       doctest::Contains("threshold 1 is not in [0, 1)"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)value_report(three, 2, three),
                       doctest::Contains("3 predictions and 3 targets for samples of 2 values"),
                       ShapeError);
  CHECK_THROWS_AS((void)precision_recall(std::vector<double>{1}, {true, false}), ShapeError);
}

TEST_CASE("precision and recall are computed at each distinct score") {
  const std::vector<PrecisionRecall> curve =
      precision_recall(std::vector<double>{3, 1, 2, 2}, {true, true, false, true});
  REQUIRE(curve.size() == 3);
  CHECK(curve[0].precision == 1);
  CHECK(curve[0].recall == doctest::Approx(1.0 / 3));
  CHECK(curve[1].precision == doctest::Approx(2.0 / 3));
  CHECK(curve[1].recall == doctest::Approx(2.0 / 3));
  CHECK(curve[2].precision == 0.75);
  CHECK(curve[2].recall == 1);
  CHECK(precision_recall(std::vector<double>{3, 1}, {false, false}).empty());
}

TEST_CASE("outputs mean probabilities of classes or of labels, or values") {
  const std::vector<float> outputs{0, 100, -100};
  CHECK(interpret(TargetKind::classes, outputs) == softmax(outputs));
  const std::vector<double> labels = interpret(TargetKind::labels, outputs);
  CHECK(labels[0] == 0.5);
  CHECK(labels[1] == 1);
  CHECK(labels[2] == doctest::Approx(std::exp(-100.0)));
  CHECK(interpret(TargetKind::values, outputs) == std::vector<double>{0, 100, -100});
  CHECK(std::isnan(sigmoid(NAN)));
}
