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

/// Additional work in the kernel of the product.
enum class Epilogue : std::uint8_t {
  none,
  bias,           ///< bias[i] is added to row i of d
  sum_columns_b,  ///< bias[j] becomes the sum of column j of op(b)
};

/// d (m,n) (+)= op(a) (m,k) * op(b) (k,n), in cuBLAS's order: column after column, columns `ld`
/// elements apart. One dtype for all; summed in f32. Without an epilogue, `count` of each may be
/// stored one after the other.
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

/// Products on one device, each planned once: by cuBLASLt's heuristics, from the algorithms that
/// add up partial sums in f32 and in a fixed order.
class Matmuls {
 public:
  explicit Matmuls(const CudaOptions& options);
  ~Matmuls();
  Matmuls(const Matmuls&) = delete;
  Matmuls& operator=(const Matmuls&) = delete;

  /// Enqueues the product. All pointers are 16-byte aligned; `bias` is for the epilogues. False,
  /// and nothing done, if the library has no algorithm for it, or refuses its epilogue in any way.
  /// Throws DeviceError with its text.
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
