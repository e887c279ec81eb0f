#!/usr/bin/env python3
"""Writes evaluation_values.h: what scikit-learn says of drawn predictions.

    python3 tests/golden/make_evaluation.py > tests/golden/evaluation_values.h

Logits are multiples of 1/1024, so that each is exact in float, without ties for the largest where they are drawn.
The expected calibration error is not one of scikit-learn's: it is Guo et al.'s definition in numpy.
"""
import warnings

import numpy as np
import sklearn
from sklearn import metrics as m

warnings.filterwarnings("ignore")
rng = np.random.default_rng(11)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def calibration_errors(p, truth, bins):
    confidence, right = p.max(axis=1), p.argmax(axis=1) == truth
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    total, largest = 0.0, 0.0
    for b in range(bins):
        inside = place == b
        if inside.any():
            gap = abs(right[inside].mean() - confidence[inside].mean())
            total, largest = total + gap * inside.mean(), max(largest, gap)
    return total, largest


def mean_auc(p, truth):
    areas = []
    for c in range(p.shape[1]):
        if 0 < (truth == c).sum() < len(truth):
            areas.append(m.roc_auc_score(truth == c, p[:, c]))
    return np.mean(areas) if areas else float("nan")


def number(value):
    return "kNaN" if np.isnan(value) else repr(float(value))


def case(name, logits, truth):
    classes, p, guess = logits.shape[1], softmax(logits), logits.argmax(axis=1)
    if len(np.unique(truth)) == classes > 2:  # where scikit-learn takes them, it says the same
        assert abs(mean_auc(p, truth) - m.roc_auc_score(truth, p, multi_class="ovr", average="macro")) < 1e-15
    labels = np.unique(np.concatenate([truth, guess]))
    how = {"zero_division": 0, "labels": labels}
    report = {}
    for average in ("macro", "weighted"):
        report[average] = m.precision_recall_fscore_support(truth, guess, average=average, **how)[:3]
    each = m.precision_recall_fscore_support(truth, guess, labels=range(classes), zero_division=0)
    ece, mce = calibration_errors(p, truth, 15)
    ece7, _ = calibration_errors(p, truth, 7)
    one_hot = np.eye(classes)[truth]
    top3 = m.top_k_accuracy_score(truth, logits, k=3, labels=range(classes)) if classes > 3 else float("nan")
    print(f"    {{.name = \"{name}\",")
    print(f"     .classes = {classes},")
    print(f"     .logits = {{{', '.join(f'{v!r}F' for v in logits.reshape(-1).tolist())}}},")
    print(f"     .truths = {{{', '.join(map(str, truth))}}},")
    for key, value in (("accuracy", m.accuracy_score(truth, guess)), ("top_3", top3),
                       ("kappa", m.cohen_kappa_score(truth, guess)), ("mcc", m.matthews_corrcoef(truth, guess)),
                       ("auc", mean_auc(p, truth)), ("ece", ece), ("ece_7", ece7), ("mce", mce),
                       ("nll", m.log_loss(truth, p, labels=range(classes))),
                       ("brier", ((p - one_hot) ** 2).sum(axis=1).mean())):
        print(f"     .{key} = {number(value)},")
    for key in ("macro", "weighted"):
        print(f"     .{key} = {{{', '.join(number(v) for v in report[key])}}},")
    print("     .each = {" + ", ".join(
        "{" + ", ".join(number(each[k][c]) for k in range(3)) + f", {each[3][c]}}}" for c in range(classes)) + "}},")


def drawn(samples, classes, present, skill):
    truth = rng.integers(0, present, samples)
    logits = rng.normal(size=(samples, classes)) * 1.5
    logits[np.arange(samples), truth] += skill
    # No ties: scikit-learn's top k takes them in another order.
    logits = np.round(logits * 4) / 4
    for row in logits:
        order = np.argsort(row)
        row[order] = row[order] + np.arange(classes) / 1024
    return logits, truth


print(f"""// Written by make_evaluation.py: scikit-learn {sklearn.__version__}, numpy {np.__version__}.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace golden {{

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Evaluation {{
  std::string name;
  std::int64_t classes;
  std::vector<float> logits;
  std::vector<std::int64_t> truths;
  double accuracy, top_3, kappa, mcc, auc, ece, ece_7, mce, nll, brier;
  std::vector<double> macro, weighted;     // precision, recall, F1
  std::vector<std::vector<double>> each;  // the same and the samples, of each class
}};

inline const std::vector<Evaluation> kEvaluations{{""")
case("five classes", *drawn(37, 5, 5, 1.5))
case("classes that no sample has", *drawn(23, 6, 3, 1.0))
case("two classes", *drawn(29, 2, 2, 1.0))
logits, _ = drawn(9, 4, 1, 0.5)
case("samples of one class", logits, np.full(9, 2))
logits = np.zeros((8, 3))
logits[:, 1] = 2
case("one prediction throughout", logits, np.array([0, 1, 2, 1, 1, 0, 2, 1]))
logits = np.zeros((5, 3))
logits[:, 1] = 2
case("one class that is predicted throughout", logits, np.full(5, 1))
print("};\n")


def floats(values):
    return "{" + ", ".join(f"{v!r}F" for v in values.reshape(-1).tolist()) + "}"


def label_case(name, logits, truth, threshold):
    said = 1 / (1 + np.exp(-logits)) > threshold
    how = {"zero_division": 0}
    each = m.precision_recall_fscore_support(truth, said, average=None, **how)
    average = np.array([m.average_precision_score(truth[:, c], logits[:, c]) for c in range(truth.shape[1])])
    assert abs(average.mean() - m.average_precision_score(truth, logits, average="macro")) < 1e-15
    macro = [*m.precision_recall_fscore_support(truth, said, average="macro", **how)[:3], average.mean()]
    print(f"    {{.name = \"{name}\",")
    print(f"     .labels = {truth.shape[1]},")
    print(f"     .threshold = {threshold},")
    print(f"     .logits = {floats(logits)},")
    print(f"     .targets = {floats(truth.astype(float))},")
    print(f"     .accuracy = {number(1 - m.hamming_loss(truth, said))},")
    print(f"     .macro = {{{', '.join(number(v) for v in macro)}}},")
    print("     .each = {" + ", ".join(
        "{" + ", ".join(number(v) for v in (*(each[k][c] for k in range(3)), average[c])) + f", {each[3][c]}, {said[:, c].sum()}}}"
        for c in range(truth.shape[1])) + "}},")


def drawn_labels(samples, shares):
    truth = (rng.random((samples, len(shares))) < shares).astype(int)
    logits = np.round((rng.normal(size=truth.shape) * 1.5 + 2 * truth - 1) * 4) / 4  # with ties
    return np.where(logits == 0, 0.25, logits), truth  # a probability of 0.5 is on the edge


print("""struct Labels {
  std::string name;
  std::int64_t labels;
  double threshold;
  std::vector<float> logits, targets;
  double accuracy;
  std::vector<double> macro;              // precision, recall, F1, average precision
  std::vector<std::vector<double>> each;  // the same, positives and predicted, of each label
};

inline const std::vector<Labels> kLabels{""")
label_case("three labels", *drawn_labels(31, [0.5, 0.3, 0.1]), 0.5)
label_case("a threshold of 0.3", *drawn_labels(17, [0.5, 0.3]), 0.3)
label_case("labels that none has and all have", *drawn_labels(11, [0.0, 1.0, 0.4]), 0.5)
logits, truth = drawn_labels(9, [0.5, 0.5])
label_case("one that is never predicted", np.where([[True, False]], -9.0, logits), truth, 0.5)
print("};\n")


def value_case(name, predicted, truth):
    truth, predicted = truth.astype(np.float32).astype(float), predicted.astype(np.float32).astype(float)
    raw = {"multioutput": "raw_values"}
    each = [m.mean_absolute_error(truth, predicted, **raw), m.root_mean_squared_error(truth, predicted, **raw),
            np.broadcast_to(m.r2_score(truth, predicted, **raw), truth.shape[1]), truth.mean(axis=0), truth.std(axis=0)]
    mean = [m.mean_absolute_error(truth, predicted), m.root_mean_squared_error(truth, predicted), m.r2_score(truth, predicted)]
    print(f"    {{.name = \"{name}\",")
    print(f"     .values = {truth.shape[1]},")
    print(f"     .predictions = {floats(predicted)},")
    print(f"     .targets = {floats(truth)},")
    print(f"     .mean = {{{', '.join(number(v) for v in mean)}}},")
    print("     .each = {" + ", ".join("{" + ", ".join(number(e[c]) for e in each) + "}" for c in range(truth.shape[1])) + "}},")


def drawn_values(samples, scales):
    truth = np.round(rng.normal(size=(samples, len(scales))) * 64) / 64 * scales + scales
    return truth + np.round(rng.normal(size=truth.shape) * 16) / 64 * scales, truth


print("""struct Values {
  std::string name;
  std::int64_t values;
  std::vector<float> predictions, targets;
  std::vector<double> mean;               // MAE, RMSE, R2
  std::vector<std::vector<double>> each;  // the same, mean and deviation of the targets, of each value
};

inline const std::vector<Values> kValues{""")
value_case("one value", *drawn_values(23, np.array([1.0])))
value_case("three of other sizes", *drawn_values(13, np.array([1.0, 1024.0, 0.125])))
same = np.full((5, 2), 3.0)
value_case("targets that are all the same", same + [[0, 0.5]], same)
value_case("one sample", np.array([[1.5]]), np.array([[1.0]]))
print("};\n\n}  // namespace golden")
