#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::cpu {

/// Computes db (k) (+)= dy (rows,k) summed over rows.
template <class T>
void bias_backward(
    const Exec& exec, const T* dy, std::int64_t rows, std::int64_t k, T* db, GradMode mode);

}  // namespace learn::cpu
