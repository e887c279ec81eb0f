#pragma once
#include "apps/learn/model/score_table.h"
#include "framework/evaluation/confusion_matrix.h"

#include <string>
#include <vector>

namespace learn::cli {

/// Images, precision, recall and F1 of each class, and the two means of the report. The matrix has
/// samples of these classes.
[[nodiscard]] ScoreTable class_scores(const ConfusionMatrix& confusion,
                                      const std::vector<std::string>& names);

/// A row per class: images, precision, recall, F1, the class it is most often confused with; then
/// the two means of the report. The matrix has samples of these classes.
[[nodiscard]] std::string class_table(const ConfusionMatrix& confusion,
                                      const std::vector<std::string>& names);

/// "cat as dog 12, dog as cat 9": the `count` pairs that are confused most often; empty if none is.
[[nodiscard]] std::string confused_pairs(const ConfusionMatrix& confusion,
                                         const std::vector<std::string>& names,
                                         std::size_t count);

/// The counts, a row per true class and a column per predicted one, which has the number of its
/// class as title; zeros are dots. A last column "NaN" if some samples have no predicted class.
[[nodiscard]] std::string matrix_table(const ConfusionMatrix& confusion,
                                       const std::vector<std::string>& names);

}  // namespace learn::cli
