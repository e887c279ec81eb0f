#pragma once

namespace learn {

/// True if the CUDA backend is part of this program. Code under `if constexpr (kHaveCuda)` may name
/// CUDA functions: in a program without them the statement is discarded and needs no symbol.
#if defined(LEARN_HAVE_CUDA) && LEARN_HAVE_CUDA
inline constexpr bool kHaveCuda = true;
#else
inline constexpr bool kHaveCuda = false;
#endif

}  // namespace learn
