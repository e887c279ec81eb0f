#pragma once
#include "framework/core/dtype.h"
#include "framework/runtime/cuda/cublas/api.h"
#include "framework/runtime/cuda_options.h"
#include "framework/runtime/exec.h"
#include "framework/tensor/arena.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace learn::cuda::cublas {

/// An operation fused with the product in the same kernel.
enum class Epilogue : std::uint8_t {
  none,
  bias,           ///< bias[i] is added to row i of d
  sum_columns_b,  ///< bias[j] is set to the sum of column j of op(b)
};

/// The product d (m,n) (+)= op(a) (m,k) * op(b) (k,n) in cuBLAS's column-major order, with columns
/// `ld` elements apart. All matrices have the same dtype; sums are in f32. Without an epilogue,
/// there may be `count` products of consecutive matrices.
struct MatmulProblem {
  std::int64_t count = 1;
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  DType dtype = DType::f32;
  Epilogue epilogue = Epilogue::none;
  bool accumulate = false;

  friend bool operator==(const MatmulProblem&, const MatmulProblem&) = default;
};

struct MatmulProblemHash {
  [[nodiscard]] std::size_t operator()(const MatmulProblem& problem) const noexcept;
};

/// Products on one device. Each is planned once by cuBLASLt's heuristics, restricted to algorithms
/// that add up partial sums in f32 and in a fixed order.
class Matmuls {
 public:
  explicit Matmuls(const CudaOptions& options);
  ~Matmuls();
  Matmuls(const Matmuls&) = delete;
  Matmuls& operator=(const Matmuls&) = delete;

  /// Enqueues the product. All pointers are 16-byte aligned; `bias` is for the epilogues. Returns
  /// false without doing anything if the library has no algorithm for the product or rejects its
  /// epilogue. Throws DeviceError with its text.
  [[nodiscard]] bool run(const Exec& exec,
                         const MatmulProblem& problem,
                         const void* a,
                         const void* b,
                         void* d,
                         const void* bias = nullptr);

 private:
  struct Plan;
  Plan& plan(const MatmulProblem& problem, const void* bias);

  CudaOptions options_;
  cublasLtHandle_t handle_ = nullptr;
  std::unordered_map<MatmulProblem, std::unique_ptr<Plan>, MatmulProblemHash> plans_;
};

}  // namespace learn::cuda::cublas
