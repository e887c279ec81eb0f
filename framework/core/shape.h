#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace learn {

/// The extents of a tensor, outermost first: activations are (N,H,W,C), convolution weights
/// (K,R,S,C). Rank 0 is a scalar with one element. At most `kMaxRank` dimensions. A shape may hold
/// any extents; a tensor checks those it is made with (see `bytes_of` in tensor/tensor.h).
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (const std::int64_t d : dims) push_back(d);
  }

  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }
  /// Extent of dimension `i`; negative counts from the end. No bounds check: see `check_rank`.
  [[nodiscard]] constexpr std::int64_t operator[](int i) const noexcept {
    return dims_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)];
  }
  constexpr void set(int i, std::int64_t extent) noexcept {
    dims_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)] = extent;
  }
  /// Adds an innermost dimension. Throws ShapeError for more than `kMaxRank`.
  constexpr void push_back(std::int64_t extent) {
    if (rank_ == kMaxRank) refuse_extent(extent);
    dims_[static_cast<std::size_t>(rank_++)] = extent;
  }
  /// Number of elements; 1 for rank 0, 0 if any extent is 0. Not checked: of a tensor's shape it is
  /// right, of another one the product may have overflowed.
  [[nodiscard]] constexpr std::int64_t elements() const noexcept {
    std::uint64_t n = 1;  // which may overflow
    for (int i = 0; i < rank_; ++i)
      n *= static_cast<std::uint64_t>(dims_[static_cast<std::size_t>(i)]);
    return static_cast<std::int64_t>(n);
  }
  [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return dims_.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const noexcept { return dims_.data() + rank_; }

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  [[noreturn]] void refuse_extent(std::int64_t extent) const;

  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace learn
