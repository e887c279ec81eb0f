// cuBLASLt without a GPU. Descriptors, layouts and preferences are the real library's; ours are the
// handle, the choice of an algorithm, which needs a handle, and the product itself.
#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/dense_tensor.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/real_library.h"
#include "tests/lab/cuda/fake/refusal.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace fakecuda;

struct cublasLtContext {};

namespace {

#define LEARN_TEXT(x) #x
#define LEARN_NUMBER(x) LEARN_TEXT(x)

template <class F>
F* real(F* like, const char* symbol) {
  static const RealLibrary library("libcublasLt.so." LEARN_NUMBER(CUBLAS_VER_MAJOR),
                                   LEARN_CUBLASLT_LIBRARY);
  return library.function(like, symbol);
}
#define LEARN_REAL(function) real(&function, #function)

/// Workspace of the chosen algorithm; real ones range from nothing to the limit.
constexpr std::size_t kWorkspace = std::size_t{64} << 10U;

template <class T>
T attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name) {
  T value{};
  std::size_t written = 0;
  if (LEARN_REAL(cublasLtMatmulDescGetAttribute)(
          operation, name, &value, sizeof(value), &written) != CUBLAS_STATUS_SUCCESS)
    stop("cublasLt: cannot read attribute {} of a product", static_cast<int>(name));
  return value;
}
template <class T>
T attribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name) {
  T value{};
  std::size_t written = 0;
  if (LEARN_REAL(cublasLtMatrixLayoutGetAttribute)(layout, name, &value, sizeof(value), &written) !=
      CUBLAS_STATUS_SUCCESS)
    stop("cublasLt: cannot read attribute {} of a matrix", static_cast<int>(name));
  return value;
}

Element element_of(std::int32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return Element::f32;
    case CUDA_R_16F:
      return Element::f16;
    case CUDA_R_16BF:
      return Element::bf16;
    default:
      stop("cublasLt: type {} is not modelled", type);
  }
}

/// One matrix, or `count` of them, one after the other.
struct Matrix {
  std::int64_t rows, columns, ld, count;
  Element type;

  explicit Matrix(cublasLtMatrixLayout_t layout)
      : rows(static_cast<std::int64_t>(
            attribute<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS))),
        columns(static_cast<std::int64_t>(
            attribute<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS))),
        ld(attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD)),
        count(attribute<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)),
        type(element_of(attribute<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE))) {
    if (attribute<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER) != CUBLASLT_ORDER_COL)
      stop("cublasLt: only matrices column after column are modelled");
    if (ld != rows) stop("cublasLt: columns {} apart for {} rows are not modelled", ld, rows);
    const auto apart = attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
    if (count < 1) stop("cublasLt: {} matrices", count);
    if (count != 1 && apart != rows * columns)
      stop("cublasLt: matrices of {} elements {} apart are not modelled", rows * columns, apart);
  }
  [[nodiscard]] std::int64_t elements() const { return count * rows * columns; }
  /// Start of matrix number `i`.
  [[nodiscard]] std::int64_t begin(std::int64_t i) const { return i * rows * columns; }
};

/// One product, as its descriptors say.
struct Product {
  Matrix a, b, d;
  bool transpose_a, transpose_b;
  std::uint32_t epilogue;
  void* bias;
  Element bias_type;
  std::int64_t m, n, k;

  Product(cublasLtMatmulDesc_t operation,
          cublasLtMatrixLayout_t layout_a,
          cublasLtMatrixLayout_t layout_b,
          cublasLtMatrixLayout_t layout_d)
      : a(layout_a),
        b(layout_b),
        d(layout_d),
        transpose_a(is_transposed(operation, CUBLASLT_MATMUL_DESC_TRANSA)),
        transpose_b(is_transposed(operation, CUBLASLT_MATMUL_DESC_TRANSB)),
        epilogue(attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE)),
        bias(attribute<void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER)),
        bias_type(d.type),
        m(d.rows),
        n(d.columns),
        k(transpose_a ? a.rows : a.columns) {
    const auto type = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    if (type != -1) bias_type = element_of(type);
    if (epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_BIAS &&
        epilogue != CUBLASLT_EPILOGUE_BGRADB)
      stop("cublasLt: epilogue {} is not modelled", epilogue);
    const auto compute = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
    if (compute != CUBLAS_COMPUTE_32F)
      stop("cublasLt: arithmetic of type {} is not modelled", compute);
  }

  [[nodiscard]] bool fits() const {
    return (transpose_a ? a.columns : a.rows) == m && (transpose_b ? b.columns : b.rows) == k &&
           (transpose_b ? b.rows : b.columns) == n && a.type == b.type && a.type == d.type &&
           a.count == d.count && b.count == d.count &&
           (d.count == 1 || epilogue == CUBLASLT_EPILOGUE_DEFAULT);
  }
  [[nodiscard]] std::int64_t bias_elements() const {
    return epilogue == CUBLASLT_EPILOGUE_BIAS ? m : n;
  }

 private:
  static bool is_transposed(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name) {
    return attribute<std::int32_t>(operation, name) != CUBLAS_OP_N;
  }
};

/// The addresses of one run.
struct Operands {
  const void* a;
  const void* b;
  void* d;
  void* workspace;
};

void check_operand(const void* data, const Matrix& matrix, const char* what) {
  check_range(data, static_cast<std::size_t>(matrix.elements()) * bytes_of(matrix.type), what);
  check_alignment(data, 16, what);  // what the program promised in its preferences
  if (matrix.count > 1 &&
      matrix.begin(1) * static_cast<std::int64_t>(bytes_of(matrix.type)) % 16 != 0)
    stop("{}: matrices of {} elements do not all begin at 16 bytes", what, matrix.begin(1));
}

/// Sums of b's columns in passing are not counted.
void survey(const Product& p, float beta) {
  const auto bytes = [](const auto& matrix) {
    return static_cast<std::uint64_t>(matrix.elements()) * bytes_of(matrix.type);
  };
  const std::string times = p.d.count == 1 ? "" : fmt::format(",count={}", p.d.count);
  note_work(fmt::format("cublas,type={},m={},n={},k={}{}", name_of(p.a.type), p.m, p.n, p.k, times),
            {.read = bytes(p.a) + bytes(p.b) + (beta != 0 ? bytes(p.d) : 0),
             .written = bytes(p.d),
             .operations = 2 * static_cast<std::uint64_t>(p.d.count * p.m * p.n * p.k)});
}

void multiply(const Product& p, const Operands& on, float alpha, float beta) {
  if (surveying()) return survey(p, beta);
  scribble(on.workspace, kWorkspace, "cublasLt: workspace");
  const std::vector<float> a = read_floats(on.a, p.a.elements(), p.a.type, "cublasLt: a");
  const std::vector<float> b = read_floats(on.b, p.b.elements(), p.b.type, "cublasLt: b");
  // With beta 0 the old values are not read: they may be anything.
  if (beta == 0 && hostile_libraries())
    scribble(on.d, static_cast<std::size_t>(p.d.elements()) * bytes_of(p.d.type), "cublasLt: d");
  std::vector<float> d(static_cast<std::size_t>(p.d.elements()));
  if (beta != 0) d = read_floats(on.d, p.d.elements(), p.d.type, "cublasLt: d");
  const auto at = [](const std::vector<float>& values,
                     const Matrix& matrix,
                     bool transposed,
                     std::int64_t i,
                     std::int64_t row,
                     std::int64_t column) {
    return values[static_cast<std::size_t>(
        matrix.begin(i) + (transposed ? row * matrix.ld + column : column * matrix.ld + row))];
  };
  std::vector<float> bias;
  if (p.epilogue == CUBLASLT_EPILOGUE_BIAS)
    bias = read_floats(p.bias, p.m, p.bias_type, "cublasLt: bias");
  const auto compute = [&](std::int64_t one, std::int64_t i, std::int64_t j) {
    float sum = 0;
    for (std::int64_t step = 0; step < p.k; ++step) {
      const std::int64_t l = hostile_libraries() ? p.k - 1 - step : step;
      sum += at(a, p.a, p.transpose_a, one, i, l) * at(b, p.b, p.transpose_b, one, l, j);
    }
    float& to = d[static_cast<std::size_t>(p.d.begin(one) + j * p.d.ld + i)];
    to = alpha * sum + (beta != 0 ? beta * to : 0.0F);
    if (!bias.empty()) to += bias[static_cast<std::size_t>(i)];
  };
  for (std::int64_t one = 0; one < p.d.count; ++one)
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) compute(one, i, j);
  unsettle(d, p.d.type);
  write_floats(on.d, d, p.d.type, "cublasLt: d");
  if (p.epilogue != CUBLASLT_EPILOGUE_BGRADB) return;
  std::vector<float> sums(static_cast<std::size_t>(p.n));
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t l = 0; l < p.k; ++l)
      sums[static_cast<std::size_t>(j)] += at(b, p.b, p.transpose_b, 0, l, j);
  unsettle(sums, p.bias_type);
  write_floats(p.bias, sums, p.bias_type, "cublasLt: sums of b");
}

/// The sizes an algorithm was chosen for, kept inside it.
struct Chosen {
  std::int64_t m, n, k, count, rank;
  friend bool operator==(const Chosen&, const Chosen&) = default;
};

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new cublasLtContext);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<cublasLtContext*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference,
                                              int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  const Product product(operation, a, b, d);
  if (!product.fits()) return CUBLAS_STATUS_INVALID_VALUE;
  const bool has_epilogue = product.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  if (has_epilogue && is_refused("cublasLtMatmulAlgoGetHeuristic"))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::uint64_t limit = 0;
  std::size_t written = 0;
  const cublasStatus_t status = LEARN_REAL(cublasLtMatmulPreferenceGetAttribute)(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit), &written);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  constexpr int kAlgorithms = 3;
  *found = limit >= kWorkspace ? std::min(wanted, kAlgorithms) : 0;
  for (int i = 0; i < *found; ++i) {
    cublasLtMatmulHeuristicResult_t& result = results[i];
    result = {};
    result.workspaceSize = kWorkspace;
    if (has_epilogue && is_refused("cublasLtMatmulHeuristicResult_t"))
      result.state = CUBLAS_STATUS_ARCH_MISMATCH;
    const Chosen chosen{product.m, product.n, product.k, product.d.count, i};
    static_assert(sizeof(chosen) <= sizeof(result.algo));
    std::memcpy(&result.algo, &chosen, sizeof(chosen));
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t,
                              cublasLtMatmulDesc_t operation,
                              const void* alpha,
                              const void* a,
                              cublasLtMatrixLayout_t layout_a,
                              const void* b,
                              cublasLtMatrixLayout_t layout_b,
                              const void* beta,
                              const void* c,
                              cublasLtMatrixLayout_t,
                              void* d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace,
                              std::size_t workspace_bytes,
                              cudaStream_t stream) {
  const Product product(operation, layout_a, layout_b, layout_d);
  if (!product.fits()) return CUBLAS_STATUS_INVALID_VALUE;
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT && is_refused("cublasLtMatmul")) {
    leave_failed_launch();
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  Chosen chosen{};
  if (algorithm == nullptr) stop("cublasLt: products without an algorithm are not modelled");
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  if (product.epilogue == CUBLASLT_EPILOGUE_DEFAULT &&
      is_refused("cublasLtMatmulAlgo_t", std::to_string(chosen.rank))) {
    leave_failed_launch();
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const Chosen wanted{product.m, product.n, product.k, product.d.count, chosen.rank};
  if (chosen != wanted)
    stop("cublasLt: the algorithm was chosen for {} of {}x{}x{}, not {} of {}x{}x{}",
         chosen.count,
         chosen.m,
         chosen.n,
         chosen.k,
         wanted.count,
         wanted.m,
         wanted.n,
         wanted.k);
  if (c != d) stop("cublasLt: a sum that is read from elsewhere is not modelled");
  if (workspace_bytes < kWorkspace) return CUBLAS_STATUS_INVALID_VALUE;
  check_range(workspace, kWorkspace, "cublasLt: workspace");
  check_alignment(workspace, 16, "cublasLt: workspace");
  check_operand(a, product.a, "cublasLt: a");
  check_operand(b, product.b, "cublasLt: b");
  check_operand(d, product.d, "cublasLt: d");
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    check_range(product.bias,
                static_cast<std::size_t>(product.bias_elements()) * bytes_of(product.bias_type),
                "cublasLt: bias");
  const float alpha_value = *static_cast<const float*>(alpha);
  const float beta_value = *static_cast<const float*>(beta);
  const std::lock_guard lock(api_mutex());
  enqueue(
      stream, "cublasLt", [product, on = Operands{a, b, d, workspace}, alpha_value, beta_value] {
        multiply(product, on, alpha_value, beta_value);
      });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
