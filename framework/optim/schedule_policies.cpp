#include "framework/core/error.h"
#include "framework/optim/schedule.h"

#include <cmath>

namespace learn::optim::schedules {
namespace {

void check_share(const char* what, double pct) {
  if (!(pct >= 0 && pct <= 1)) fail<UsageError>("{} must be in [0, 1], not {}", what, pct);
}

void check_divisor(const char* what, double value) {
  if (!(value > 0)) fail<UsageError>("{} must be positive, not {}", what, value);
}

Schedule rise(const OneCycleShape& shape, double start, double end) {
  return shape.linear_rise ? linear(start, end) : cosine(start, end);
}

Schedule up_and_down(const OneCycleShape& shape, double start, double middle, double end) {
  check_share("one-cycle: pct_start", shape.pct_start);
  return combine({shape.pct_start, 1 - shape.pct_start},
                 {rise(shape, start, middle), cosine(middle, end)});
}

}  // namespace

OneCycleShape OneCycleShape::snapped(std::int64_t steps) const {
  if (steps < 1) fail<UsageError>("one-cycle: {} steps; there must be at least one", steps);
  OneCycleShape snapped = *this;
  // Rounding of pct * steps must not lose a whole step: 0.3 * 10 is 3, not 2.
  const auto n = static_cast<double>(steps);
  snapped.pct_start = std::floor(pct_start * n + 1e-9) / n;
  return snapped;
}

Course one_cycle(double lr_max, const OneCycleShape& shape) {
  check_divisor("one-cycle: div", shape.div);
  check_divisor("one-cycle: div_final", shape.div_final);
  return {up_and_down(shape, lr_max / shape.div, lr_max, lr_max / shape.div_final),
          up_and_down(shape, shape.mom_max, shape.mom_min, shape.mom_max)};
}

Schedule flat_cosine(double value, double pct_start, double div_final) {
  check_share("flat-cosine: pct_start", pct_start);
  check_divisor("flat-cosine: div_final", div_final);
  return combine({pct_start, 1 - pct_start}, {constant(value), cosine(value, value / div_final)});
}

std::int64_t sgdr_epochs(const SgdrShape& shape) {
  if (shape.cycles < 1 || shape.cycle_len < 1 || shape.cycle_mult < 1)
    fail<UsageError>("SGDR: {} cycles of length {} times {} each: all three must be at least 1",
                     shape.cycles,
                     shape.cycle_len,
                     shape.cycle_mult);
  std::int64_t epochs = 0;
  std::int64_t length = shape.cycle_len;
  for (std::int64_t i = 0; i < shape.cycles; ++i, length *= shape.cycle_mult) epochs += length;
  return epochs;
}

Schedule sgdr(double start, double end, const SgdrShape& shape) {
  const auto epochs = static_cast<double>(sgdr_epochs(shape));
  std::vector<double> pcts;
  auto length = static_cast<double>(shape.cycle_len);
  for (std::int64_t i = 0; i < shape.cycles; ++i) {
    pcts.push_back(length / epochs);
    length *= static_cast<double>(shape.cycle_mult);
  }
  return combine(pcts, std::vector<Schedule>(pcts.size(), cosine(start, end)));
}

Schedule warm_up(double pct, double start_factor, const Schedule& after) {
  check_share("warm-up: pct", pct);
  const double target = after(0);
  return combine({pct, 1 - pct}, {linear(start_factor * target, target), after});
}

}  // namespace learn::optim::schedules
