#include "framework/runtime/cuda/cublas/api.h"

#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/shared_library.h"
#include "framework/runtime/library_search.h"

#include <cuda_runtime_api.h>

namespace learn::cuda::cublas {
namespace {

#define LEARN_TEXT(x) #x
#define LEARN_NUMBER(x) LEARN_TEXT(x)
constexpr const char* kName = "libcublasLt.so." LEARN_NUMBER(CUBLAS_VER_MAJOR);
#undef LEARN_NUMBER
#undef LEARN_TEXT

template <class Function>
void find(SharedLibrary& library, Function*& to, const char* symbol) {
  to = library.function<Function>(symbol);
}

Api load() {
  SharedLibrary library(
      kName, LEARN_CUBLASLT_LIBRARY, pip_package("cublas", CUDART_VERSION / 1000));
  Api api{};
  find(library, api.get_version, "cublasLtGetVersion");
  find(library, api.status_name, "cublasLtGetStatusName");
  find(library, api.status_string, "cublasLtGetStatusString");
  find(library, api.create, "cublasLtCreate");
  find(library, api.destroy, "cublasLtDestroy");
  find(library, api.matmul_create, "cublasLtMatmulDescCreate");
  find(library, api.matmul_destroy, "cublasLtMatmulDescDestroy");
  find(library, api.matmul_set, "cublasLtMatmulDescSetAttribute");
  find(library, api.layout_create, "cublasLtMatrixLayoutCreate");
  find(library, api.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(library, api.layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(library, api.preference_create, "cublasLtMatmulPreferenceCreate");
  find(library, api.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(library, api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(library, api.get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(library, api.matmul, "cublasLtMatmul");
  return api;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

void check_cublas(cublasStatus_t status, const char* what, SourceLocation where) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  forget_last_error();  // of a launch inside
  fail<DeviceError>("{}:{}: cuBLASLt {}: {} ({})",
                    where.file,
                    where.line,
                    what,
                    api().status_name(status),
                    api().status_string(status));
}

}  // namespace learn::cuda::cublas
