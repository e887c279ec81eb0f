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
print("};\n\n}  // namespace golden")
