#pragma once
#include "framework/learner/learner.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::cli {

/// What a classifier made of the samples of each class.
class ClassReport {
 public:
  /// `predictions` has logits (N,classes) and classes (N).
  ClassReport(const Predictions& predictions, std::vector<std::string> classes);

  [[nodiscard]] std::int64_t right() const noexcept { return right_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// Samples of whose logits one is NaN: taken for nothing, and so never right.
  [[nodiscard]] std::int64_t undecided() const noexcept { return undecided_; }
  /// A row per class: images, accuracy, the class it is most often taken for.
  [[nodiscard]] std::string table() const;

 private:
  struct OfClass {
    std::int64_t total = 0;
    std::int64_t right = 0;
    std::vector<std::int64_t> taken_for;
  };

  std::vector<std::string> names_;
  std::vector<OfClass> classes_;
  std::int64_t right_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t undecided_ = 0;
};

}  // namespace learn::cli
