#include "framework/evaluation/confusion_matrix.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
  check(shape.rank() == 2 && shape[1] > 0, "confusion matrix: predictions are {}", shape);
  const bool soft = target.dtype() == DType::f32;
  check(target.shape() == (soft ? shape : Shape{shape[0]}),
        "confusion matrix: targets are {} for predictions {}",
        target.shape(),
        shape);
  const auto classes = static_cast<std::size_t>(shape[1]);
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto of_row = [&](const Tensor& values, std::size_t i) {
    return predicted_class(values.span<float>().subspan(i * classes, classes));
  };
  std::vector<std::int64_t> truths(rows);
  std::vector<std::int64_t> guesses(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    truths[i] = soft ? of_row(target, i) : target.span<std::int64_t>()[i];
    guesses[i] = of_row(pred, i);
  }
  add(shape[1], truths, guesses);
}

void ConfusionMatrix::add(std::int64_t classes,
                          std::span<const std::int64_t> truths,
                          std::span<const std::int64_t> guesses) {
  check((samples_ == 0 || classes == classes_) && truths.size() == guesses.size(),
        "confusion matrix of {} classes: {} predictions of {} classes for {} samples",
        classes_,
        guesses.size(),
        classes,
        truths.size());
  for (std::size_t i = 0; i < truths.size(); ++i)
    check<DataError>(truths[i] >= 0 && truths[i] < classes && guesses[i] < classes,
                     "confusion matrix: row {} has class {}, but there are {} classes",
                     i,
                     truths[i] >= 0 && truths[i] < classes ? guesses[i] : truths[i],
                     classes);
  classes_ = static_cast<int>(classes);
  const auto columns = static_cast<std::size_t>(classes) + 1;
  counts_.resize(columns * static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const std::size_t column = guesses[i] < 0 ? columns - 1 : static_cast<std::size_t>(guesses[i]);
    ++counts_[static_cast<std::size_t>(truths[i]) * columns + column];
  }
  samples_ += static_cast<std::int64_t>(truths.size());
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
  return used > 0 ? sum / used : kNaN;
}

double ConfusionMatrix::weighted_mean(double (ConfusionMatrix::*value)(int) const) const {
  double sum = 0;
  for (int c = 0; c < classes_; ++c) sum += static_cast<double>(seen(c)) * (this->*value)(c);
  return samples_ > 0 ? sum / static_cast<double>(samples_) : kNaN;
}

ConfusionMatrix::Sums ConfusionMatrix::sums() const {
  Sums out;
  std::int64_t undecided = samples_;
  for (int c = 0; c < classes_; ++c) {
    const auto truths = static_cast<double>(seen(c));
    const auto guesses = static_cast<double>(predicted(c));
    out.right += static_cast<double>(count(c, c));
    out.chance += truths * guesses;
    out.truths += truths * truths;
    out.guesses += guesses * guesses;
    undecided -= predicted(c);
  }
  // Samples without a predicted class are an additional class of predictions.
  out.guesses += static_cast<double>(undecided) * static_cast<double>(undecided);
  out.all = static_cast<double>(samples_);
  return out;
}

double ConfusionMatrix::accuracy() const {
  const Sums s = sums();
  return s.right / s.all;
}

double ConfusionMatrix::kappa() const {
  const Sums s = sums();
  const double possible = s.all * s.all - s.chance;
  return possible > 0 ? (s.right * s.all - s.chance) / possible : kNaN;
}

double ConfusionMatrix::matthews() const {
  if (samples_ == 0) return kNaN;
  const Sums s = sums();
  const double spread = (s.all * s.all - s.truths) * (s.all * s.all - s.guesses);
  return spread > 0 ? (s.right * s.all - s.chance) / std::sqrt(spread) : 0;
}

std::vector<Confusion> ConfusionMatrix::most_confused(std::int64_t least) const {
  std::vector<Confusion> pairs;
  for (int truth = 0; truth < classes_; ++truth)
    for (int guess = 0; guess < classes_; ++guess)
      if (const std::int64_t n = count(truth, guess); truth != guess && n > 0 && n >= least)
        pairs.push_back({truth, guess, n});
  std::ranges::stable_sort(pairs, std::ranges::greater{}, &Confusion::count);
  return pairs;
}

}  // namespace learn
