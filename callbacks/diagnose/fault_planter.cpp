#include "callbacks/diagnose/fault_planter.h"

#include "framework/kernels/cast/fill.h"
#include "framework/nn/module.h"
#include "framework/runtime/transfer.h"

#include <limits>

namespace learn::callbacks {
namespace {

bool in_forward_pass(FaultKind kind) {
  return kind == FaultKind::overflow_act || kind == FaultKind::nan_act;
}

}  // namespace

void plant(Context& ctx, FaultKind kind, const Tensor& where) {
  const bool nan = kind == FaultKind::nan || kind == FaultKind::nan_act;
  Tensor first = where.range(0, 1);
  kernels::fill(
      ctx,
      first,
      nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity());
}

FaultPlanter::FaultPlanter(Tape& tape,
                           std::vector<Fault> faults,
                           ForwardObserver* forward,
                           BackwardObserver* backward)
    : tape_(tape), faults_(std::move(faults)), forward_(forward), backward_(backward) {
  tape.observe(this);
  tape.observe_backward(this);
}

FaultPlanter::~FaultPlanter() {
  tape_.observe(nullptr);
  tape_.observe_backward(nullptr);
}

void FaultPlanter::forwarded(const nn::Module& module, const Var& in, const Var& out) {
  std::erase_if(faults_, [&](const Fault& fault) {
    if (fault.place != module.path()) return false;
    if (in_forward_pass(fault.kind)) {
      plant(tape_.context(), fault.kind, out.value());
      return true;
    }
    outputs_.emplace_back(out.id(), fault);
    return false;
  });
  if (forward_ != nullptr) forward_->forwarded(module, in, out);
}

void FaultPlanter::reached(std::uint32_t value, std::string_view operation, Tensor& gradient) {
  for (const auto& [output, fault] : outputs_) {
    if (output != value) continue;
    Context& ctx = tape_.context();
    Tensor own = ctx.empty(gradient.shape(), gradient.dtype());
    copy(ctx, gradient, own);
    plant(ctx, fault.kind, own);
    gradient = own;
    std::erase_if(faults_, [&, &planted = fault](const Fault& f) {
      return f.kind == planted.kind && f.place == planted.place;
    });
  }
  if (backward_ != nullptr) backward_->reached(value, operation, gradient);
}

}  // namespace learn::callbacks
