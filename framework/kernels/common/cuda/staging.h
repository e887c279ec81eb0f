#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"
#include "framework/tensor/arena.h"

#include <cstdint>

/// Operands in the form that the libraries' fast algorithms need: 16-byte aligned, rows too.
namespace learn::cuda {

/// A matrix of `rows` rows whose `columns` elements the library reads as `width` elements, with
/// trailing zeros. `all_rows` may be more than `rows`: rows of zeros at the end.
struct StagedShape {
  std::int64_t rows, columns, width, all_rows;
};

/// An operand that is read: itself if it has that form, otherwise a copy in scratch memory.
class StagedInput {
 public:
  StagedInput(
      Stream stream, Arena& workspace, DType dtype, const void* from, const StagedShape& shape);
  [[nodiscard]] const void* data() const noexcept { return data_; }

 private:
  Storage copy_;
  const void* data_;
};

/// A result: written in place, or into scratch memory and brought home by `finish`.
class StagedOutput {
 public:
  StagedOutput(Stream stream, Arena& workspace, DType dtype, void* to, const StagedShape& shape);
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// The library must accumulate by itself; a staged result is accumulated by `finish`.
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
