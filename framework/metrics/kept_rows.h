#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/runtime/context.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <string_view>

namespace learn {

/// Rows of a pass, one per sample, kept on the device until they are read, so that no batch waits
/// for the host. Memory grows by doubling: at most twice what the rows take.
class KeptRows {
 public:
  explicit KeptRows(DType dtype) : dtype_(dtype) {}
  /// Appends the rows of `x` (N) or (N,columns). Throws DTypeError for another dtype, ShapeError
  /// for other columns than before.
  void add(Context& ctx, const Tensor& x);
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  /// All rows, (rows, columns) on the host; undefined without rows. Waits for the device.
  [[nodiscard]] Tensor read(Context& ctx) const;
  /// Throws CheckpointError for more rows than `most`.
  void visit_state(Context& ctx, std::int64_t most, std::string_view name, StateVisitor& visitor);

 private:
  void reserve(Context& ctx, std::int64_t rows);

  DType dtype_;
  Tensor kept_;  // flat
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace learn
