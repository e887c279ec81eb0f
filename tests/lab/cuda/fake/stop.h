#pragma once
#include <fmt/core.h>

#include <string_view>

/// A CUDA runtime without a GPU, for tests only: see framework/adr/0009-fake-cuda-runtime.md.
namespace fakecuda {

/// Exit status of a process in which the fake runtime found a fault.
inline constexpr int kFaultStatus = 67;

/// Prints "FAKE CUDA ERROR: text" and ends the process at once with kFaultStatus: a fault on a
/// device cannot be caught and forgotten.
[[noreturn]] void stop_with(std::string_view text);

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
  stop_with(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fakecuda
