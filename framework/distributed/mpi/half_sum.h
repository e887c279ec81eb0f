#pragma once
#include "framework/core/dtype.h"

#include <mpi.h>

namespace learn::mpi {

/// The sum of values of a half type, which MPI carries as MPI_UINT16_T. Each addition is rounded.
[[nodiscard]] MPI_Op half_sum(DType dtype);

}  // namespace learn::mpi
