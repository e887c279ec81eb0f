#pragma once
#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "framework/kernels/map/program.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Interpreters of programs: one kernel for all operations and all dtypes.
namespace learn::kernels {

/// An input. Strides are in elements, one for each dimension of `MapArgs::sizes`; 0 repeats.
struct MapInput {
  const void* data = nullptr;  ///< null: an element's value is its index
  DType dtype = DType::f32;
  bool dense = true;  ///< element i of the results uses element i
  std::int64_t strides[Shape::kMaxRank] = {};
};

struct MapOutput {
  void* data = nullptr;
  DType dtype = DType::f32;
  bool accumulate = false;
};

struct MapArgs {
  MapProgram program;
  float number[MapProgram::kNumbers] = {};  ///< the program's numbers, as f32
  std::int64_t n = 0;                       ///< elements of each output
  int dims = 0;                             ///< the fewest dimensions that serve all inputs
  std::int64_t sizes[Shape::kMaxRank] = {};
  MapInput in[MapProgram::kInputs] = {};
  MapOutput out[MapProgram::kOutputs] = {};
};

/// Returns the position of the element of an input that is not dense.
[[nodiscard]] constexpr std::int64_t offset_in(const MapInput& in,
                                               const MapArgs& args,
                                               std::int64_t i) noexcept {
  std::int64_t offset = 0;
  for (int d = args.dims - 1; d > 0; --d) {
    const std::int64_t next = i / args.sizes[d];
    offset += (i - next * args.sizes[d]) * in.strides[d];
    i = next;
  }
  return offset + i * in.strides[0];
}

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(void map(const Exec& exec, const kernels::MapArgs& args);)
