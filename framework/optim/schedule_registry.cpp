#include "framework/optim/registry.h"

#include <cmath>

namespace learn::optim {
namespace {

using namespace schedules;

/// A linear rise at the start of a training.
struct WarmUp {
  double share = 0;  ///< of the training
  double start = 0;  ///< first factor
};

/// Options of the plain schedules: factors of the value that they are made for.
struct PlainOptions {
  double start = 1;
  double end = 0;
  double power = 2;
  WarmUp warmup;
};

void declare_warmup(OptionTable& t, WarmUp& warmup) {
  t.number("warmup", warmup.share, kShare, "SHARE", "share of the training with a linear warm-up");
  t.number("warmup_start", warmup.start, kNotNegative, "X", "first factor of the warm-up");
}

void declare_plain(OptionTable& t, PlainOptions& o) {
  t.number("start", o.start, kAnyNumber, "X", "initial factor");
  t.number("end", o.end, kAnyNumber, "X", "final factor");
  declare_warmup(t, o.warmup);
}

void declare_power(OptionTable& t, PlainOptions& o) {
  declare_plain(t, o);
  t.number("power", o.power, kPositive, "X", "exponent of 1 - progress");
}

Course warmed_up(const WarmUp& warmup, Schedule schedule) {
  if (warmup.share > 0) schedule = warm_up(warmup.share, warmup.start, schedule);
  return {.lr = std::move(schedule), .momentum = {}};
}

/// Adds a schedule that a function of (start, end, power) makes.
template <class Declare, class MakeSchedule>
void add_plain(Registry<Course(double, std::int64_t)>& registry,
               const char* name,
               const char* help,
               PlainOptions defaults,
               Declare declare,
               MakeSchedule make_schedule) {
  registry.add(name,
               help,
               defaults,
               declare,
               [make_schedule](const PlainOptions& o, double value, std::int64_t) {
                 return warmed_up(o.warmup, make_schedule(o.start * value, o.end * value, o.power));
               });
}

struct StepOptions {
  std::vector<double> at{0.5, 0.75};
  double factor = 0.1;
  WarmUp warmup;
};

void declare_step(OptionTable& t, StepOptions& o) {
  t.numbers("at", o.at, kPositiveShare, "SHARE:...", "milestones, as shares of the training");
  t.number("factor", o.factor, kPositive, "X", "multiplies the value at each milestone");
  declare_warmup(t, o.warmup);
}

Course step(const StepOptions& o, double value, std::int64_t /*steps*/) {
  std::vector<double> values;
  for (std::size_t i = 0; i <= o.at.size(); ++i)
    values.push_back(value * std::pow(o.factor, static_cast<double>(i)));
  return warmed_up(o.warmup, piecewise(o.at, values));
}

struct FlatCosineOptions {
  double pct_start = 0.75;
  double div_final = 1e5;
  WarmUp warmup;
};

void declare_flat_cosine(OptionTable& t, FlatCosineOptions& o) {
  t.number(
      "pct_start", o.pct_start, kShare, "SHARE", "share of the training before the cosine starts");
  t.number("div_final", o.div_final, kPositive, "X", "final value = value / div_final");
  declare_warmup(t, o.warmup);
}

struct OneCycleOptions {
  OneCycleShape shape;
  bool whole_steps = false;
};

void declare_one_cycle(OptionTable& t, OneCycleOptions& options) {
  OneCycleShape& o = options.shape;
  constexpr Range kInside{.low = 0, .high = 1, .open_low = true, .open_high = true};
  t.number(
      "warmup", o.pct_start, kInside, "SHARE", "share of the training in which the value rises");
  t.number("div", o.div, kPositive, "X", "initial value = value / div");
  t.number("div_final", o.div_final, kPositive, "X", "final value = value / div_final");
  t.number("mom_max", o.mom_max, kShare, "M", "momentum at the start and the end");
  t.number("mom_min", o.mom_min, kShare, "M", "momentum at the peak");
  t.choice("rise", o.linear_rise, {{"cosine", false}, {"line", true}}, "shape of the rise");
  t.flag("whole_steps",
         options.whole_steps,
         "the rise lasts a whole number of steps, rounded down, as fastai 1 counts");
}

Course make_one_cycle(const OneCycleOptions& o, double value, std::int64_t steps) {
  if (!o.whole_steps) return one_cycle(value, o.shape);
  check<UsageError>(
      steps > 0,
      "one-cycle: whole_steps needs a schedule of the whole training: use it with --schedule");
  return one_cycle(value, o.shape.snapped(steps));
}

struct SgdrOptions {
  SgdrShape shape;
  double end = 0;
  WarmUp warmup;
};

void declare_sgdr(OptionTable& t, SgdrOptions& o) {
  t.number("cycles", o.shape.cycles, {1, 1000}, "N", "number of cycles");
  t.number("cycle_mult",
           o.shape.cycle_mult,
           {1, 16},
           "N",
           "each cycle is this many times as long as the one before");
  t.number("end", o.end, kAnyNumber, "X", "final factor of each cycle");
  declare_warmup(t, o.warmup);
}

}  // namespace

Registry<Course(double, std::int64_t)> schedule_registry() {
  Registry<Course(double, std::int64_t)> registry("schedule");
  registry.add(
      "const",
      "constant",
      PlainOptions{},
      [](OptionTable& t, PlainOptions& o) { declare_warmup(t, o.warmup); },
      [](const PlainOptions& o, double value, std::int64_t) {
        return warmed_up(o.warmup, constant(value));
      });
  add_plain(
      registry, "linear", "linear decay", {}, declare_plain, [](double start, double end, double) {
        return linear(start, end);
      });
  add_plain(
      registry, "cosine", "cosine decay", {}, declare_plain, [](double start, double end, double) {
        return cosine(start, end);
      });
  add_plain(registry,
            "exponential",
            "exponential decay",
            {.end = 0.01},
            declare_plain,
            [](double start, double end, double) { return exponential(start, end); });
  add_plain(registry, "polynomial", "polynomial decay", {}, declare_power, polynomial);
  registry.add("step", "stepwise decay", StepOptions{}, declare_step, step);
  registry.add("flat-cos",
               "constant, then cosine decay (fastai's fit_flat_cos)",
               FlatCosineOptions{},
               declare_flat_cosine,
               [](const FlatCosineOptions& o, double value, std::int64_t) {
                 return warmed_up(o.warmup, flat_cosine(value, o.pct_start, o.div_final));
               });
  registry.add("one-cycle",
               "one-cycle policy: up, then down; momentum the other way (fastai's fit_one_cycle)",
               OneCycleOptions{},
               declare_one_cycle,
               make_one_cycle);
  registry.add("sgdr",
               "cosine decay with warm restarts (fastai's fit_sgdr)",
               SgdrOptions{},
               declare_sgdr,
               [](const SgdrOptions& o, double value, std::int64_t) {
                 return warmed_up(o.warmup, sgdr(value, o.end * value, o.shape));
               });
  return registry;
}

}  // namespace learn::optim
