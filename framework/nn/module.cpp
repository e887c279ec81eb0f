#include "framework/nn/module.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"

namespace learn::nn {
namespace {

Var widened(const Var& x) {
  return x.defined() && is_half(x.dtype()) ? ops::cast(x, DType::f32) : x;
}

}  // namespace

Module::Module(const Scope& scope)
    : place_(scope.store().mark_module(scope.path(), this, scope.is_in_f32())) {}

Var Module::operator()(const Var& x) {
  return run(x, Var(), [this](const Var& in, const Var&) { return forward(in); });
}

Var Module::run(const Var& x,
                const Var& second,
                FunctionRef<Var(const Var&, const Var&)> body) const {
  Tape& tape = x.tape();
  if (ForwardObserver* observer = tape.observer()) observer->entered(*this);
  Var y;
  if (place_.in_f32) {
    const AutocastRegion none(tape, std::nullopt);
    y = body(widened(x), widened(second));
    if (is_half(x.dtype())) y = ops::cast(y, x.dtype());
  } else {
    y = body(x, second);
  }
  if (ForwardObserver* observer = tape.observer()) observer->forwarded(*this, x, y);
  return y;
}

std::string type_of(const Module& module) {
  const std::string text = module.describe();
  return text.substr(0, text.find_first_of("(: "));
}

}  // namespace learn::nn
