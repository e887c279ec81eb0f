#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::kernels {

/// Parameters of a dropout mask; see DropoutMask.
struct DropoutDraw {
  std::uint64_t seed;
  double p;
  const std::int64_t* batch;    ///< one number, in the executor's memory
  std::uint64_t first_element;  ///< counter of element 0
};

/// A part (outer, inner) of a concatenation (outer, width): its columns from `offset` on.
struct Columns {
  std::int64_t outer, inner, width, offset;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(
    template <class T> void add(const Exec& exec, const T* a, const T* b, T* y, std::int64_t n);
    template <class T>
    void multiply(const Exec& exec, const T* a, const T* b, T* y, GradMode mode, std::int64_t n);
    template <class T>
    void scale(const Exec& exec, const T* x, double factor, T* y, GradMode mode, std::int64_t n);
    template <class T>
    void dropout(const Exec& exec,
                 const kernels::DropoutDraw& draw,
                 const T* x,
                 T* y,
                 GradMode mode,
                 std::int64_t n);
    template <class T>
    void copy_into_columns(const Exec& exec, const T* x, T* y, const kernels::Columns& columns);
    template <class T>
    void copy_from_columns(
        const Exec& exec, const T* y, T* x, const kernels::Columns& columns, GradMode mode);)

namespace learn::cpu {

template <class T>
void add_bias(
    const Exec& exec, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels);

}  // namespace learn::cpu
