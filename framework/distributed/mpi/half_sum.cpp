#include "framework/distributed/mpi/half_sum.h"

#include "framework/distributed/mpi/session.h"

#include <cstdint>

namespace learn::mpi {
namespace {

Half sum_of(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
BFloat16 sum_of(BFloat16 a, BFloat16 b) { return to_bfloat16(to_float(a) + to_float(b)); }

template <class T>
void add(void* from, void* to, int* count, MPI_Datatype* /*type*/) {
  const auto* const values = static_cast<const std::uint16_t*>(from);
  auto* const sums = static_cast<std::uint16_t*>(to);
  for (int i = 0; i < *count; ++i) sums[i] = sum_of(T{sums[i]}, T{values[i]}).bits;
}

template <class T>
MPI_Op made() {
  MPI_Op sum = MPI_OP_NULL;
  check_mpi(MPI_Op_create(&add<T>, 1, &sum), "MPI_Op_create");
  return sum;
}

}  // namespace

MPI_Op half_sum(DType dtype) {
  // MPI keeps them until its end.
  static const MPI_Op f16 = made<Half>();
  static const MPI_Op bf16 = made<BFloat16>();
  return dtype == DType::f16 ? f16 : bf16;
}

}  // namespace learn::mpi
