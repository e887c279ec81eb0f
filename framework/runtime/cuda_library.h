#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace learn {

/// Loads the CUDA backend, a shared library, once in a process: from the program's folder, from the
/// `lib` folder next to it, from the build folder, or from the loader's path. The CUDA runtime that
/// it needs may be in Python's folders (library_search.h). Functions of `learn::cuda` can be called
/// from then on; before, and if it cannot be loaded, they throw DeviceError. Returns why it cannot,
/// or nothing. Never throws.
[[nodiscard]] const std::string& load_cuda_library();

/// The function that the library exports as `learn_cuda_attach`: it uses the program's log, and
/// returns the version of the sources it was built from, which must be the program's.
using AttachCudaLibrary = const char*(const std::shared_ptr<void>& log);

}  // namespace learn

/// The calls that this program makes into the library, one slot for each: their symbols, and the
/// functions, which are `learn_cuda_not_loaded` until the library is. Made in the build by
/// framework/cmake/CudaCalls.cmake.
extern "C" {
extern const std::size_t kLearnCudaCallCount;
extern const char* const kLearnCudaCallSymbols[];
// Hidden: jumps in a shared library reach it without a table.
[[gnu::visibility("hidden")]] extern void (*learn_cuda_calls[])();
[[noreturn]] void learn_cuda_not_loaded();
}
