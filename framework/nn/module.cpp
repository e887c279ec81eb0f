#include "framework/nn/module.h"

#include "framework/autograd/tape.h"

namespace learn::nn {

Module::Module(const Scope& scope) : path_(scope.path()) { scope.store().mark_module(path_); }

Var Module::operator()(const Var& x) { return observed(x, forward(x)); }

Var Module::observed(const Var& x, const Var& y) const {
  if (ForwardObserver* observer = x.tape().observer()) observer->forwarded(*this, x, y);
  return y;
}

}  // namespace learn::nn
