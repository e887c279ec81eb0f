#pragma once
#include "framework/core/error.h"

#include <cublasLt.h>

/// cuBLASLt as this backend uses it. The library is loaded at the first call: half a gigabyte,
/// which programs that run on the CPU shall not wait for.
namespace learn::cuda::cublas {

/// The functions this backend calls.
struct Api {
  decltype(&::cublasLtGetVersion) get_version;
  decltype(&::cublasLtGetStatusName) status_name;
  decltype(&::cublasLtGetStatusString) status_string;
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtDestroy) destroy;
  decltype(&::cublasLtMatmulDescCreate) matmul_create;
  decltype(&::cublasLtMatmulDescDestroy) matmul_destroy;
  decltype(&::cublasLtMatmulDescSetAttribute) matmul_set;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) get_heuristic;
  decltype(&::cublasLtMatmul) matmul;
};

/// Loads cuBLASLt at the first call. Throws DeviceError if it is not there.
[[nodiscard]] const Api& api();

/// Throws DeviceError with what was tried, cuBLAS's name of the error and its text.
void check_cublas(cublasStatus_t status,
                  const char* what,
                  SourceLocation where = SourceLocation::current());

}  // namespace learn::cuda::cublas
