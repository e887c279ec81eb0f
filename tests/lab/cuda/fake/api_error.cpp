#include "tests/lab/cuda/fake/api_error.h"

#include <array>

namespace fakecuda {
namespace {

struct Text {
  cudaError_t code;
  const char* name;
  const char* words;
};

constexpr std::array kTexts{
    Text{cudaSuccess, "cudaSuccess", "no error"},
    Text{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Text{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Text{cudaErrorInvalidConfiguration,
         "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
    Text{cudaErrorInvalidMemcpyDirection,
         "cudaErrorInvalidMemcpyDirection",
         "invalid copy direction for memcpy"},
    Text{cudaErrorInvalidDeviceFunction,
         "cudaErrorInvalidDeviceFunction",
         "invalid device function"},
    Text{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Text{cudaErrorInvalidResourceHandle,
         "cudaErrorInvalidResourceHandle",
         "invalid resource handle"},
    Text{cudaErrorIllegalState,
         "cudaErrorIllegalState",
         "the operation cannot be performed in the present state"},
    Text{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Text{cudaErrorLaunchOutOfResources,
         "cudaErrorLaunchOutOfResources",
         "too many resources requested for launch"},
    Text{cudaErrorStreamCaptureUnsupported,
         "cudaErrorStreamCaptureUnsupported",
         "operation not permitted when stream is capturing"},
    Text{cudaErrorStreamCaptureInvalidated,
         "cudaErrorStreamCaptureInvalidated",
         "operation failed due to a previous error during capture"},
    Text{cudaErrorStreamCaptureUnmatched,
         "cudaErrorStreamCaptureUnmatched",
         "operation would result in a merge of separate capture sequences"},
    Text{cudaErrorStreamCaptureUnjoined,
         "cudaErrorStreamCaptureUnjoined",
         "capturing stream has unjoined work"},
    Text{cudaErrorCapturedEvent,
         "cudaErrorCapturedEvent",
         "operation not permitted on an event last recorded in a capturing stream"},
    Text{
        cudaErrorGraphExecUpdateFailure,
        "cudaErrorGraphExecUpdateFailure",
        "the graph update was not performed because it included changes which violated constraints "
        "specific to instantiated graph update"},
};

constexpr Text kOther{
    cudaErrorUnknown, "cudaErrorUnknown", "an error the fake runtime has no text for"};

const Text& text_of(cudaError_t code) {
  for (const Text& text : kTexts)
    if (text.code == code) return text;
  return kOther;
}

cudaError_t& last_error() {
  static thread_local cudaError_t code = cudaSuccess;
  return code;
}

}  // namespace

cudaError_t report(cudaError_t code) {
  if (code != cudaSuccess) last_error() = code;
  return code;
}

void leave_failed_launch() { (void)report(cudaErrorInvalidConfiguration); }

}  // namespace fakecuda

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t code = fakecuda::last_error();
  fakecuda::last_error() = cudaSuccess;
  return code;
}
cudaError_t cudaPeekAtLastError() { return fakecuda::last_error(); }
const char* cudaGetErrorName(cudaError_t code) { return fakecuda::text_of(code).name; }
const char* cudaGetErrorString(cudaError_t code) { return fakecuda::text_of(code).words; }

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
