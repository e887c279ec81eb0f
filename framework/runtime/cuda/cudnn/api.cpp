#include "framework/runtime/cuda/cudnn/api.h"

#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/shared_library.h"
#include "framework/runtime/library_search.h"

#include <cuda_runtime_api.h>

#include <array>

namespace learn::cuda::cudnn {
namespace {

template <class Function>
void find(SharedLibrary& library, Function*& to, const char* symbol) {
  to = library.function<Function>(symbol);
}

Api load() {
  SharedLibrary library(
      "libcudnn.so.9", LEARN_CUDNN_LIBRARY, pip_package("cudnn", CUDART_VERSION / 1000));
  Api api{};
  find(library, api.get_version, "cudnnGetVersion");
  find(library, api.error_string, "cudnnGetErrorString");
  find(library, api.last_error_string, "cudnnGetLastErrorString");
  find(library, api.create, "cudnnCreate");
  find(library, api.destroy, "cudnnDestroy");
  find(library, api.set_stream, "cudnnSetStream");
  find(library, api.create_descriptor, "cudnnBackendCreateDescriptor");
  find(library, api.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  find(library, api.set_attribute, "cudnnBackendSetAttribute");
  find(library, api.get_attribute, "cudnnBackendGetAttribute");
  find(library, api.finalize, "cudnnBackendFinalize");
  find(library, api.execute, "cudnnBackendExecute");
  if (api.get_version() < 90800)  // the first that makes plans from a device's description
    fail<DeviceError>("cuDNN is version {}, 9.8 (90800) is needed", api.get_version());
  return api;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

void check_cudnn(cudnnStatus_t status, const char* what, SourceLocation where) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  forget_last_error();  // of a launch inside
  std::array<char, 2048> text{};
  api().last_error_string(text.data(), text.size());
  fail<DeviceError>("{}:{}: cuDNN {}: {} ({})",
                    where.file,
                    where.line,
                    what,
                    api().error_string(status),
                    text.data());
}

}  // namespace learn::cuda::cudnn
