#pragma once
#include "framework/core/error.h"

#include <cstdint>
#include <span>

namespace learn {

/// Rows of logits (N,classes) with their true classes, checked. Borrows both.
class LogitRows {
 public:
  /// Throws ShapeError for logits that are not N*classes, DataError for a class that is not in
  /// [0, classes).
  LogitRows(std::span<const float> logits,
            std::int64_t classes,
            std::span<const std::int64_t> truths)
      : logits_(logits), classes_(static_cast<std::size_t>(classes)), truths_(truths) {
    check(classes >= 1 && logits.size() == truths.size() * classes_,
          "{} logits for {} samples of {} classes",
          logits.size(),
          truths.size(),
          classes);
    for (std::size_t i = 0; i < truths.size(); ++i)
      check<DataError>(truths[i] >= 0 && truths[i] < classes,
                       "sample {} has class {}, there are {} classes",
                       i,
                       truths[i],
                       classes);
  }
  [[nodiscard]] std::size_t size() const noexcept { return truths_.size(); }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return logits_.subspan(i * classes_, classes_);
  }
  [[nodiscard]] std::size_t truth(std::size_t i) const {
    return static_cast<std::size_t>(truths_[i]);
  }

 private:
  std::span<const float> logits_;
  std::size_t classes_;
  std::span<const std::int64_t> truths_;
};

}  // namespace learn
