#include "framework/nn/layers/flatten.h"

#include "framework/autograd/ops.h"

namespace learn::nn {

Var Flatten::forward(const Var& x) { return ops::flatten(x); }

}  // namespace learn::nn
