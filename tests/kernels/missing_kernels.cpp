// Code that must not compile: an operation that an executor does not implement, or not for a type.
// The test compiles it with LEARN_MISSING from 0, where nothing is missing, to 3.
#include "framework/runtime/dispatch.h"

namespace learn {

namespace reference {
#if LEARN_MISSING != 1
template <class T>
void negate(Exec, const T*, T*) {}
#endif
}  // namespace reference

namespace cpu {
#if LEARN_MISSING == 2
inline void negate(const Exec&, const float*, float*) {}  // no halves
#else
template <class T>
void negate(const Exec&, const T*, T*) {}
#endif
}  // namespace cpu

namespace cuda {
#if LEARN_MISSING != 3
template <class T>
void negate(const Exec&, const T*, T*);
#endif
}  // namespace cuda

namespace kernels {

void negate(Context& ctx, const Tensor& x, Tensor& y) {
  dispatch(ctx, "negate", x.dtype(), [&]<class T>(const auto& exec) {
    negate(exec, x.data<T>(), y.data<T>());
  });
}

}  // namespace kernels
}  // namespace learn
