#include "callbacks/whitening/filters.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace learn::callbacks {

PatchMoments::PatchMoments(std::int64_t rows, std::int64_t columns, std::int64_t channels)
    : rows_(rows),
      columns_(columns),
      channels_(channels),
      size_(rows * columns * channels),
      sums_(static_cast<std::size_t>(size_ * size_)) {}

std::int64_t PatchMoments::add(const Tensor& images, std::int64_t most) {
  const Shape& shape = images.shape();
  check<UsageError>(
      shape.rank() == 4 && shape[1] >= rows_ && shape[2] >= columns_ && shape[3] >= channels_,
      "whitening: patches of {}x{} with {} channels are not in samples {}",
      rows_,
      columns_,
      channels_,
      shape);
  const std::int64_t count = std::min(most, shape[0]);
  const float* const pixels = images.span<float>().data();
  std::vector<double> patch(static_cast<std::size_t>(size_));
  for (std::int64_t n = 0; n < count; ++n)
    for (std::int64_t y = 0; y + rows_ <= shape[1]; ++y)
      for (std::int64_t x = 0; x + columns_ <= shape[2]; ++x) {
        double* to = patch.data();
        for (std::int64_t r = 0; r < rows_; ++r)
          for (std::int64_t s = 0; s < columns_; ++s)
            to = std::copy_n(
                pixels + ((n * shape[1] + y + r) * shape[2] + x + s) * shape[3], channels_, to);
        for (std::int64_t i = 0; i < size_; ++i)
          for (std::int64_t j = i; j < size_; ++j)
            sums_[static_cast<std::size_t>(i * size_ + j)] +=
                patch[static_cast<std::size_t>(i)] * patch[static_cast<std::size_t>(j)];
        ++patches_;
      }
  return count;
}

std::vector<double> PatchMoments::moments() const {
  std::vector<double> out(sums_.size());
  for (std::int64_t i = 0; i < size_; ++i)
    for (std::int64_t j = 0; j < size_; ++j)
      out[static_cast<std::size_t>(i * size_ + j)] =
          sums_[static_cast<std::size_t>(std::min(i, j) * size_ + std::max(i, j))] /
          static_cast<double>(std::max<std::int64_t>(1, patches_));
  return out;
}

Eigen symmetric_eigen(std::vector<double> matrix, std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<double> vectors(n * n);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  const auto rotate = [](double& a, double& b, double c, double s) {
    const double first = c * a - s * b;
    b = s * a + c * b;
    a = first;
  };
  constexpr int kSweeps = 60;  // each at least squares what is left off the diagonal, in the end
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double off = 0;
    double all = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double square = matrix[i * n + j] * matrix[i * n + j];
        all += square;
        off += i == j ? 0 : square;
      }
    if (off <= 1e-30 * all) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (matrix[p * n + q] == 0) continue;
        const double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * matrix[p * n + q]);
        const double t = std::copysign(1, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        for (std::size_t k = 0; k < n; ++k) rotate(matrix[k * n + p], matrix[k * n + q], c, s);
        for (std::size_t k = 0; k < n; ++k) rotate(matrix[p * n + k], matrix[q * n + k], c, s);
        for (std::size_t k = 0; k < n; ++k) rotate(vectors[p * n + k], vectors[q * n + k], c, s);
      }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, std::ranges::greater{}, [&](std::size_t i) { return matrix[i * n + i]; });
  Eigen out;
  for (const std::size_t i : order) {
    out.values.push_back(matrix[i * n + i]);
    out.vectors.insert(out.vectors.end(),
                       vectors.begin() + static_cast<std::ptrdiff_t>(i * n),
                       vectors.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
  }
  return out;
}

std::vector<float> whitening_filters(const PatchMoments& patches, double eps) {
  const Eigen eigen = symmetric_eigen(patches.moments(), patches.size());
  std::vector<float> out;
  for (const double sign : {1.0, -1.0})
    for (std::size_t i = 0; i < eigen.vectors.size(); ++i) {
      const double value = std::max(0.0, eigen.values[i / eigen.values.size()]);
      out.push_back(static_cast<float>(sign * eigen.vectors[i] / std::sqrt(value + eps)));
    }
  return out;
}

}  // namespace learn::callbacks
