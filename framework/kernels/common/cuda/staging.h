#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"
#include "framework/tensor/arena.h"

#include <cstdint>

/// Operands in the form that the libraries' fast algorithms need: 16-byte aligned, rows included.
namespace learn::cuda {

/// A matrix of `rows` rows whose `columns` elements are padded with zeros to the `width` elements
/// that the library sees. If `all_rows` exceeds `rows`, rows of zeros are appended.
struct StagedShape {
  std::int64_t rows, columns, width, all_rows;
};

/// An input operand: the tensor itself if it already has this form, otherwise a copy in scratch
/// memory.
class StagedInput {
 public:
  StagedInput(
      Stream stream, Arena& workspace, DType dtype, const void* from, const StagedShape& shape);
  [[nodiscard]] const void* data() const noexcept { return data_; }

 private:
  Storage copy_;
  const void* data_;
};

/// A result, written in place or into scratch memory from which `finish` copies it to its
/// destination.
class StagedOutput {
 public:
  StagedOutput(Stream stream, Arena& workspace, DType dtype, void* to, const StagedShape& shape);
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// If true, the library must accumulate itself; otherwise `finish` accumulates the staged result.
  [[nodiscard]] bool in_place() const noexcept { return copy_.empty(); }
  void finish(GradMode mode);

 private:
  Stream stream_;
  DType dtype_;
  void* to_;
  StagedShape shape_;
  Storage copy_;
  void* data_;
};

}  // namespace learn::cuda
