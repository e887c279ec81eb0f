#include "framework/kernels/product/cuda/matmul.h"

#include "framework/core/fnv1a.h"
#include "framework/core/log.h"
#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/race.h"

#include <array>

namespace learn::cuda::cublas {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      fail<DTypeError>("linear: {} has no CUDA implementation", name_of(dtype));
  }
}

cublasLtEpilogue_t epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      break;
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::sum_columns_b:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// An object of cuBLASLt with its destroy function.
template <class T>
class Owned {
 public:
  explicit Owned(cublasStatus_t (*destroy)(T)) : destroy_(destroy) {}
  ~Owned() {
    if (raw_ != nullptr) (void)destroy_(raw_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] T get() const noexcept { return raw_; }
  [[nodiscard]] T* out() noexcept { return &raw_; }

 private:
  T raw_ = nullptr;
  cublasStatus_t (*destroy_)(T);
};

/// Creates the layout of the problem's matrices of `rows` x `columns`, before `op` is applied.
void make_layout(Owned<cublasLtMatrixLayout_t>& to,
                 const MatmulProblem& p,
                 std::int64_t rows,
                 std::int64_t columns,
                 std::int64_t ld) {
  check_cublas(api().layout_create(to.out(),
                                   data_type(p.dtype),
                                   static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns),
                                   ld),
               "refuses a matrix");
  if (p.count == 1) return;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
    check_cublas(api().layout_set(to.get(), name, &value, sizeof(value)),
                 "refuses an attribute of a matrix");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(p.count));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, ld * columns);
}

}  // namespace

std::size_t MatmulProblemHash::operator()(const MatmulProblem& p) const noexcept {
  const std::array values{p.count,
                          p.m,
                          p.n,
                          p.k,
                          p.lda,
                          p.ldb,
                          p.ldd,
                          static_cast<std::int64_t>(p.transpose_a),
                          static_cast<std::int64_t>(p.transpose_b),
                          static_cast<std::int64_t>(p.dtype),
                          static_cast<std::int64_t>(p.epilogue),
                          static_cast<std::int64_t>(p.accumulate)};
  return fnv1a_words(values);
}

namespace {

/// Limit of the algorithms to try. More are unlikely to help.
constexpr std::size_t kMaxAlgorithms = 8;

}  // namespace

struct Matmuls::Plan {
  Owned<cublasLtMatmulDesc_t> operation{api().matmul_destroy};
  Owned<cublasLtMatrixLayout_t> a{api().layout_destroy};
  Owned<cublasLtMatrixLayout_t> b{api().layout_destroy};
  Owned<cublasLtMatrixLayout_t> d{api().layout_destroy};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
  std::size_t rank = 0;  ///< of the algorithm among the heuristics' answers, best first
  bool possible = false;

  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    check_cublas(api().matmul_set(operation.get(), name, &value, sizeof(value)),
                 "refuses an attribute of a product");
  }

  Plan(const MatmulProblem& p, bool tf32) {
    const bool rounded = p.dtype == DType::f32 && tf32;
    check_cublas(api().matmul_create(operation.out(),
                                     rounded ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                     CUDA_R_32F),
                 "refuses a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue));
    if (p.epilogue != Epilogue::none) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(p.dtype));
    make_layout(a, p, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda);
    make_layout(b, p, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb);
    make_layout(d, p, p.m, p.n, p.ldd);
  }

  /// Chooses the algorithm of the current rank, or sets `possible` to false if there are too few.
  void choose(cublasLtHandle_t handle, const CudaOptions& options, bool with_epilogue) {
    possible = false;
    if (rank >= kMaxAlgorithms) return;
    Owned<cublasLtMatmulPreference_t> preference(api().preference_destroy);
    check_cublas(api().preference_create(preference.out()), "refuses preferences");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
      check_cublas(api().preference_set(preference.get(), name, &value, sizeof(value)),
                   "refuses a preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
           static_cast<std::uint64_t>(options.workspace_limit));
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(name, std::uint32_t{16});
    std::array<cublasLtMatmulHeuristicResult_t, kMaxAlgorithms> answers{};
    const int wanted = static_cast<int>(rank) + 1;
    int found = 0;
    const cublasStatus_t status = api().get_heuristic(handle,
                                                      operation.get(),
                                                      a.get(),
                                                      b.get(),
                                                      d.get(),
                                                      d.get(),
                                                      preference.get(),
                                                      wanted,
                                                      answers.data(),
                                                      &found);
    const cublasLtMatmulHeuristicResult_t& best = answers[rank];
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        (status == CUBLAS_STATUS_SUCCESS && found < wanted))
      return;
    if (with_epilogue && (status != CUBLAS_STATUS_SUCCESS || best.state != CUBLAS_STATUS_SUCCESS))
      return;
    check_cublas(status, "has no answer");
    check_cublas(best.state, "has no algorithm");
    algorithm = best.algo;
    workspace = best.workspaceSize;
    possible = true;
  }
};

Matmuls::Matmuls(const CudaOptions& options) : options_(options) {
  check_cublas(api().create(&handle_), "cannot be started");
}

Matmuls::~Matmuls() {
  plans_.clear();
  (void)api().destroy(handle_);
}

Matmuls::Plan& Matmuls::plan(const MatmulProblem& problem, const void* bias) {
  std::unique_ptr<Plan>& known = plans_[problem];
  const bool is_new = known == nullptr;
  if (is_new) known = std::make_unique<Plan>(problem, options_.tf32);
  // The choice depends on the alignment of the bias, so its pointer is set first.
  if (problem.epilogue != Epilogue::none) known->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (is_new) known->choose(handle_, options_, problem.epilogue != Epilogue::none);
  return *known;
}

bool Matmuls::run(const Exec& exec,
                  const MatmulProblem& problem,
                  const void* a,
                  const void* b,
                  void* d,
                  const void* bias) {
  Plan& planned = plan(problem, bias);
  if (!planned.possible) return false;
  const auto multiply = [&] {
    const Storage scratch =
        planned.workspace > 0 ? exec.workspace.allocate(planned.workspace) : Storage();
    const float alpha = 1;
    const float beta = problem.accumulate ? 1 : 0;
    return api().matmul(handle_,
                        planned.operation.get(),
                        &alpha,
                        a,
                        planned.a.get(),
                        b,
                        planned.b.get(),
                        &beta,
                        d,
                        planned.d.get(),
                        d,
                        planned.d.get(),
                        &planned.algorithm,
                        scratch.data(),
                        planned.workspace,
                        exec.stream);
  };
  cublasStatus_t status = multiply();
  // During a capture, the failure has ended the capture. The step is then run without a capture and
  // gets here again.
  while (status != CUBLAS_STATUS_SUCCESS && problem.epilogue == Epilogue::none &&
         !is_capturing(exec.stream)) {
    const cublasStatus_t failed = status;
    forget_last_error();  // left by a launch inside the library
    ++planned.rank;
    planned.choose(handle_, options_, false);
    check_cublas(planned.possible ? CUBLAS_STATUS_SUCCESS : failed, "cannot multiply");
    log::warn("[cublas] product of {}x{}x{}: an algorithm cannot be run, using the next one: {}",
              problem.m,
              problem.n,
              problem.k,
              api().status_name(failed));
    status = multiply();
  }
  if (status != CUBLAS_STATUS_SUCCESS && problem.epilogue != Epilogue::none) {
    forget_last_error();  // left by a launch inside the library
    planned.possible = false;
    return false;
  }
  check_cublas(status, "cannot multiply");
  return true;
}

}  // namespace learn::cuda::cublas
