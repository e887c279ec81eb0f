#include "framework/optim/control_state.h"

#include <limits>

namespace learn::optim {

void visit_real(StateVisitor& visitor,
                std::string_view name,
                float& value,
                const RealLimits& limits) {
  double wide = static_cast<double>(value);
  visitor.visit(name, wide, limits);
  value = static_cast<float>(wide);
}

void visit_control(StateVisitor& visitor, StepControl& control) {
  visit_real(visitor,
             "loss_scale",
             control.loss_scale,
             {.low = static_cast<double>(std::numeric_limits<float>::min()),
              .high = static_cast<double>(std::numeric_limits<float>::max())});
  const double inverse = static_cast<double>(1 / control.loss_scale);
  visit_real(visitor, "inverse_scale", control.inverse_scale, {.low = inverse, .high = inverse});
  visitor.visit("step", control.step, {});
  visitor.visit("skipped", control.skipped, {});
  visitor.visit("clean_steps", control.clean_steps, {.high = control.step});
  visitor.visit("overflows", control.overflows, {.high = control.skipped});
}

}  // namespace learn::optim
