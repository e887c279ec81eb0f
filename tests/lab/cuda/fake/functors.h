#pragma once
#include "tests/lab/cuda/fake/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

/// Computations of several families of instructions in one lane.

/// Integers; sums wrap.
namespace fakecuda::integer {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

}  // namespace fakecuda::integer

/// float and double.
namespace fakecuda::floating {

/// Returns the number if the other operand is NaN; -0 is less than +0.
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && std::signbit(b)) ? a : b;
  }
};
/// The forms for which a NaN wins.
template <class F>
struct WithNan {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : F{}(a, b);
  }
};

}  // namespace fakecuda::floating
