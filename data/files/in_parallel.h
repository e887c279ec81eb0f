#pragma once
#include "data/dataset.h"
#include "framework/core/function_ref.h"

#include <cstdint>

namespace learn::data {

/// Calls visit(i) for each i in [0, n) on several threads (0: physical cores), and reports progress
/// after each block. Rethrows the first exception after all threads have ended.
void in_parallel(std::int64_t n,
                 int threads,
                 const DataProgress& progress,
                 FunctionRef<void(std::int64_t)> visit);

}  // namespace learn::data
