#pragma once
#include "framework/evaluation/confusion_matrix.h"

#include <cstdint>
#include <vector>

namespace learn {

struct ClassScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  std::int64_t support = 0;  ///< samples of the class; of a mean, all samples
};

/// Precision, recall and F1 of each class and their means, as scikit-learn's classification_report
/// with zero_division=0: a ratio of nothing to nothing is 0.
struct ClassReport {
  std::vector<ClassScores> classes;
  ClassScores macro;     ///< over the classes that occur or are predicted, with equal weights
  ClassScores weighted;  ///< over all samples: each class is weighted by its number of samples
};

/// The means are NaN without samples.
[[nodiscard]] ClassReport class_report(const ConfusionMatrix& confusion);

}  // namespace learn
