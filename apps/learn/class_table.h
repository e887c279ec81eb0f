#pragma once
#include "framework/evaluation/confusion_matrix.h"

#include <string>
#include <vector>

namespace learn::cli {

/// A row per class: images, accuracy, the class that it is most often taken for. The matrix has
/// samples of these classes.
[[nodiscard]] std::string class_table(const ConfusionMatrix& confusion,
                                      const std::vector<std::string>& names);

}  // namespace learn::cli
