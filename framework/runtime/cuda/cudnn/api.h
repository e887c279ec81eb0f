#pragma once
#include "framework/core/error.h"

#include <cudnn.h>

#include <string>

/// cuDNN's graph interface as this backend uses it. The library is loaded at the first call.
namespace learn::cuda::cudnn {

/// The functions this backend calls.
struct Api {
  decltype(&::cudnnGetVersion) get_version;
  decltype(&::cudnnGetErrorString) error_string;
  decltype(&::cudnnGetLastErrorString) last_error_string;
  decltype(&::cudnnCreate) create;
  decltype(&::cudnnDestroy) destroy;
  decltype(&::cudnnSetStream) set_stream;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&::cudnnBackendSetAttribute) set_attribute;
  decltype(&::cudnnBackendGetAttribute) get_attribute;
  decltype(&::cudnnBackendFinalize) finalize;
  decltype(&::cudnnBackendExecute) execute;
};

/// Loads cuDNN at the first call. Throws DeviceError if it is not there or older than 9.8.
[[nodiscard]] const Api& api();

/// Throws DeviceError with what was tried, cuDNN's name of the error and its own text.
void check_cudnn(cudnnStatus_t status,
                 const char* what,
                 SourceLocation where = SourceLocation::current());

}  // namespace learn::cuda::cudnn
