#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn::callbacks {

/// The second moments of image patches, not centred: the mean of p p^T over all patches p of
/// (R,S,C) values.
class PatchMoments {
 public:
  PatchMoments(std::int64_t rows, std::int64_t columns, std::int64_t channels);
  /// Adds all patches of images (N,H,W,channels + padding), f32 on the host, up to `most` images.
  /// Returns how many were added. Throws UsageError for images smaller than a patch.
  std::int64_t add(const Tensor& images, std::int64_t most);
  /// Values of a patch, and their moments (size,size).
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::vector<double> moments() const;

 private:
  std::int64_t rows_, columns_, channels_, size_;
  std::int64_t patches_ = 0;
  std::vector<double> sums_;  // of the upper triangle
};

/// Eigenvalues, the largest first, and unit eigenvectors, one row each, of a symmetric matrix
/// (size,size), by Jacobi's rotations.
struct Eigen {
  std::vector<double> values;
  std::vector<double> vectors;
};
[[nodiscard]] Eigen symmetric_eigen(std::vector<double> matrix, std::int64_t size);

/// Returns 2 * size filters of `size` values each: the eigenvectors of the moments, the largest
/// eigenvalue first, divided by sqrt(eigenvalue + eps), so that their responses to the patches have
/// second moments of about 1 and are not correlated; then the negatives of these filters.
[[nodiscard]] std::vector<float> whitening_filters(const PatchMoments& patches, double eps);

}  // namespace learn::callbacks
