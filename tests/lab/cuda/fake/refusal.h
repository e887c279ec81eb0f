#pragma once
#include <string_view>

/// Calls that fail on demand, as those of a real driver and of real libraries may. FAKE_CUDA_REFUSE
/// in the environment, which a program may change while it runs, names them:
///   cudaGraphInstantiate      every call of it
///   cudnnBackendExecute:2     only the second one since the variable got its value
/// Several are separated by commas.
namespace fakecuda {

/// Is this call of `function` to fail? Calls of different `kind` are counted as one and the same: a
/// plan that is refused once is refused each time.
[[nodiscard]] bool is_refused(std::string_view function, std::string_view kind = {});

}  // namespace fakecuda
