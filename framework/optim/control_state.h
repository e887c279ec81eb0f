#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/kernels/common/step_control.h"

namespace learn::optim {

/// The part of a control block that belongs in a checkpoint: the loss scale and all counters.
void visit_control(StateVisitor& visitor, StepControl& control);
/// An f32 among them, within limits.
void visit_real(StateVisitor& visitor,
                std::string_view name,
                float& value,
                const RealLimits& limits);

}  // namespace learn::optim
