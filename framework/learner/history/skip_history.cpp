#include "framework/learner/history/skip_history.h"

#include "framework/learner/state_table.h"

#include <fmt/core.h>

#include <array>

namespace learn {
namespace {

constexpr std::array<std::string_view, 5> kNames{
    "growth", "warm-up", "growth probe", "overflow", "infinite loss"};

constexpr std::size_t kColumns = 4;
/// More of the steps than that must not be skipped without a reason that passes.
constexpr double kNormalShare = 0.01;

std::vector<double> numbers_of(const std::vector<StepRecord>& records) {
  std::vector<double> out;
  for (const StepRecord& r : records)
    out.insert(out.end(),
               {static_cast<double>(r.batch),
                static_cast<double>(r.event),
                static_cast<double>(r.scale_before),
                static_cast<double>(r.scale_after)});
  return out;
}

/// "2 while the loss scale was adjusted, 1 after it had grown".
std::string reasons(const StepCounts& c, bool dynamic) {
  std::string text;
  const auto add = [&](std::int64_t n, std::string_view one, std::string_view many) {
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, n == 1 ? one : many);
  };
  constexpr std::string_view kWarmUp = "while the loss scale was adjusted";
  add(c.warm_up, kWarmUp, kWarmUp);
  add(c.growth_probes, "after it had grown", "after it had grown");
  if (dynamic)
    add(c.overflows, "at a scale that had worked before", "at a scale that had worked before");
  else
    add(c.overflows, "overflow", "overflows");
  add(c.bad_losses, "infinite loss", "infinite losses");
  return text;
}

}  // namespace

std::string_view name_of(StepEvent event) noexcept {
  return kNames.at(static_cast<std::size_t>(event));
}

StepCounts StepCounts::since(const StepCounts& before) const noexcept {
  return {.applied = applied - before.applied,
          .skipped = skipped - before.skipped,
          .warm_up = warm_up - before.warm_up,
          .growth_probes = growth_probes - before.growth_probes,
          .overflows = overflows - before.overflows,
          .bad_losses = bad_losses - before.bad_losses,
          .in_a_row = in_a_row - before.in_a_row};
}

void SkipHistory::begin(const StepControl& control, const LossScaleOptions& scaling) {
  // The scale was set, or this is its first step.
  const bool known = counts_.applied + counts_.skipped > 0;
  if (!known || control.loss_scale != last_.loss_scale) {
    settled_ = control.clean_steps > 0;
    grew_ = false;
    skipped_before_ = false;
  }
  last_ = control;
  scaling_ = scaling;
}

StepEvent SkipHistory::kind_of_skip(bool loss_is_finite) const noexcept {
  if (!loss_is_finite) return StepEvent::bad_loss;
  if (!scaling_.dynamic) return StepEvent::overflow;
  if (!settled_) return StepEvent::warm_up;
  return grew_ ? StepEvent::growth_probe : StepEvent::overflow;
}

std::optional<StepRecord> SkipHistory::add(std::int64_t batch,
                                           const StepControl& after,
                                           bool loss_is_finite) {
  const StepControl before = std::exchange(last_, after);
  StepRecord record{
      .batch = batch, .scale_before = before.loss_scale, .scale_after = after.loss_scale};
  if (after.skipped > before.skipped) {
    record.event = kind_of_skip(loss_is_finite);
    ++counts_.skipped;
    counts_.warm_up += record.event == StepEvent::warm_up ? 1 : 0;
    counts_.growth_probes += record.event == StepEvent::growth_probe ? 1 : 0;
    counts_.overflows += record.event == StepEvent::overflow ? 1 : 0;
    counts_.bad_losses += record.event == StepEvent::bad_loss ? 1 : 0;
    if (record.event != StepEvent::warm_up) {
      // With a hysteresis the scale falls from a later overflow in a row on: until then nothing is
      // done that could help.
      const bool waits = scaling_.dynamic && after.loss_scale == before.loss_scale &&
                         after.loss_scale > scaling_.floor;
      if (std::exchange(skipped_before_, !waits)) ++counts_.in_a_row;
      if (!waits) grew_ = false;
    }
    keep(record);
    return record;
  }
  if (after.step == before.step) return {};  // its gradients are held
  ++counts_.applied;
  settled_ = true;
  skipped_before_ = false;
  if (before.overflows > 0) grew_ = false;  // its skips are over
  if (after.loss_scale <= before.loss_scale) return {};
  grew_ = true;
  keep(record);
  return record;
}

void SkipHistory::keep(const StepRecord& record) {
  if (records_.size() == kCapacity)
    records_.erase(records_.begin(), records_.begin() + kCapacity / 2);
  records_.push_back(record);
}

StepVerdict SkipHistory::verdict(const StepCounts& c, float scale_at_begin) const {
  if (c.skipped == 0) return {};
  const std::int64_t steps = c.applied + c.skipped;
  const double share = static_cast<double>(c.skipped) / static_cast<double>(steps);
  std::string text = fmt::format("{} of {} steps skipped ({}: {})",
                                 c.skipped,
                                 steps,
                                 percent(share),
                                 reasons(c, scaling_.dynamic));
  const bool scaled = scaling_.dynamic;
  if (scaled) text += fmt::format(", loss scale {} -> {}", scale_at_begin, last_.loss_scale);
  const bool many = c.overflows > 1 &&
                    static_cast<double>(c.overflows) > kNormalShare * static_cast<double>(steps);
  std::string why;
  const auto because = [&](bool is_so, std::string_view reason) {
    if (is_so) why += fmt::format("{}{}", why.empty() ? "" : ", ", reason);
  };
  because(c.applied == 0, "no step was applied");
  because(c.bad_losses > 0, "a loss was infinite or NaN");
  because(scaled && last_.loss_scale <= scaling_.floor, "the scale is at its floor");
  because(!scaled && c.overflows > 0, "there is no loss scale that could adapt");
  because(c.in_a_row > 0, "several steps in a row were skipped");
  because(many, "more than 1 % at a scale that had worked before");
  if (why.empty()) return {.normal = true, .text = text + ": normal"};
  return {.normal = false, .text = fmt::format("{}: not normal, {}", text, why)};
}

void SkipHistory::visit_state(StateVisitor& visitor) {
  const StateVisitor::Scope scope(visitor, "steps");
  visitor.visit("applied", counts_.applied, {});
  visitor.visit("warm_up", counts_.warm_up, {});
  visitor.visit("growth_probes", counts_.growth_probes, {});
  visitor.visit("overflows", counts_.overflows, {});
  visitor.visit("bad_losses", counts_.bad_losses, {});
  visitor.visit("in_a_row", counts_.in_a_row, {});
  visitor.visit("settled", settled_);
  visitor.visit("grew", grew_);
  visitor.visit("skipped_before", skipped_before_);
  double scale = static_cast<double>(last_.loss_scale);
  visitor.visit("loss_scale", scale, kFloatLimits);
  std::vector<double> numbers = numbers_of(records_);
  visit_table(visitor, "records", kColumns, kCapacity, numbers);
  if (!visitor.loading()) return;
  counts_.skipped =
      counts_.warm_up + counts_.growth_probes + counts_.overflows + counts_.bad_losses;
  last_.loss_scale = static_cast<float>(scale);
  const auto checked = [&](double value, const RealLimits& limits) {
    visitor.check_loaded("records.table", value, limits);
    return value;
  };
  constexpr RealLimits kBatch{.low = 1, .high = static_cast<double>(IntegerLimits::kMax)};
  constexpr RealLimits kEvent{.high = static_cast<double>(kNames.size() - 1)};
  records_.clear();
  for (auto row = numbers.begin(); row != numbers.end(); row += kColumns)
    records_.push_back({.batch = static_cast<std::int64_t>(checked(row[0], kBatch)),
                        .event = static_cast<StepEvent>(checked(row[1], kEvent)),
                        .scale_before = static_cast<float>(checked(row[2], kFloatLimits)),
                        .scale_after = static_cast<float>(checked(row[3], kFloatLimits))});
}

}  // namespace learn
