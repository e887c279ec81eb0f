#include "framework/learner/confusion_matrix.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace learn {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int predicted_class(std::span<const float> outputs) noexcept {
  if (std::any_of(outputs.begin(), outputs.end(), [](float v) { return std::isnan(v); })) return -1;
  return static_cast<int>(std::max_element(outputs.begin(), outputs.end()) - outputs.begin());
}

void ConfusionMatrix::add(const Tensor& pred, const Tensor& target) {
  const Shape& shape = pred.shape();
  check(shape.rank() == 2 && shape[1] > 0 && (samples_ == 0 || shape[1] == classes_),
        "confusion matrix of {} classes: predictions are {}",
        classes_,
        shape);
  const bool soft = target.dtype() == DType::f32;
  check(target.shape() == (soft ? shape : Shape{shape[0]}),
        "confusion matrix: targets are {} for predictions {}",
        target.shape(),
        shape);
  const auto classes = static_cast<std::size_t>(shape[1]);
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto outputs = pred.span<float>();
  std::vector<std::size_t> truths(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t truth =
        soft ? predicted_class(target.span<float>().subspan(i * classes, classes))
             : target.span<std::int64_t>()[i];
    check<DataError>(truth >= 0 && truth < shape[1],
                     "confusion matrix: row {} has class {}, there are {} classes",
                     i,
                     truth,
                     classes);
    truths[i] = static_cast<std::size_t>(truth);
  }
  classes_ = static_cast<int>(classes);
  counts_.resize(classes * (classes + 1));
  for (std::size_t i = 0; i < rows; ++i) {
    const int guess = predicted_class(outputs.subspan(i * classes, classes));
    const std::size_t column = guess < 0 ? classes : static_cast<std::size_t>(guess);
    ++counts_[truths[i] * (classes + 1) + column];
  }
  samples_ += shape[0];
}

std::int64_t ConfusionMatrix::count(int truth, int guess) const {
  check<UsageError>(truth >= 0 && truth < classes_ && guess >= 0 && guess < classes_,
                    "confusion matrix: classes {} and {} of {}",
                    truth,
                    guess,
                    classes_);
  return counts_[static_cast<std::size_t>(truth) * static_cast<std::size_t>(classes_ + 1) +
                 static_cast<std::size_t>(guess)];
}

std::int64_t ConfusionMatrix::seen(int truth) const {
  (void)count(truth, truth);
  const auto columns = static_cast<std::ptrdiff_t>(classes_) + 1;
  const auto row = counts_.begin() + truth * columns;
  return std::accumulate(row, row + columns, std::int64_t{0});
}

std::int64_t ConfusionMatrix::predicted(int guess) const {
  std::int64_t sum = 0;
  for (int truth = 0; truth < classes_; ++truth) sum += count(truth, guess);
  return sum;
}

double ConfusionMatrix::recall(int of_class) const {
  return ratio(count(of_class, of_class), seen(of_class));
}

double ConfusionMatrix::precision(int of_class) const {
  return ratio(count(of_class, of_class), predicted(of_class));
}

double ConfusionMatrix::f1(int of_class) const {
  return ratio(2 * count(of_class, of_class), seen(of_class) + predicted(of_class));
}

double ConfusionMatrix::mean(double (ConfusionMatrix::*value)(int) const) const {
  double sum = 0;
  int used = 0;
  for (int c = 0; c < classes_; ++c) {
    if (seen(c) + predicted(c) == 0) continue;
    sum += (this->*value)(c);
    ++used;
  }
  return used > 0 ? sum / used : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace learn
