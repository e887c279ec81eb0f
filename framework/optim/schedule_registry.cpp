#include "framework/optim/registry.h"

#include <cmath>

namespace learn::optim {
namespace {

using namespace schedules;

constexpr double kRiseBegins = 0;  // of the value, where the training warms up

/// Options of the plain schedules: factors of the value that they are made for.
struct PlainOptions {
  double start = 1;
  double end = 0;
  double power = 2;
  double warmup = 0;
};

void declare_warmup(OptionTable& t, double& warmup) {
  t.number("warmup", warmup, kShare, "SHARE", "of the training in which a line leads up to it");
}

void declare_plain(OptionTable& t, PlainOptions& o) {
  t.number("start", o.start, kAnyNumber, "X", "first factor");
  t.number("end", o.end, kAnyNumber, "X", "last factor");
  declare_warmup(t, o.warmup);
}

void declare_power(OptionTable& t, PlainOptions& o) {
  declare_plain(t, o);
  t.number("power", o.power, kPositive, "X", "of 1 - progress");
}

Course warmed_up(double warmup, Schedule schedule) {
  if (warmup > 0) schedule = warm_up(warmup, kRiseBegins, schedule);
  return {.lr = std::move(schedule), .momentum = {}};
}

/// Adds a schedule that a function of (start, end, power) makes.
template <class Declare, class MakeSchedule>
void add_plain(Registry<Course(double)>& registry,
               const char* name,
               const char* help,
               PlainOptions defaults,
               Declare declare,
               MakeSchedule make_schedule) {
  registry.add(name, help, defaults, declare, [make_schedule](const PlainOptions& o, double value) {
    return warmed_up(o.warmup, make_schedule(o.start * value, o.end * value, o.power));
  });
}

struct StepOptions {
  std::vector<double> at{0.5, 0.75};
  double factor = 0.1;
  double warmup = 0;
};

void declare_step(OptionTable& t, StepOptions& o) {
  t.numbers("at", o.at, kPositiveShare, "SHARE:...", "where in the training it falls");
  t.number("factor", o.factor, kPositive, "X", "what it is multiplied by there");
  declare_warmup(t, o.warmup);
}

Course step(const StepOptions& o, double value) {
  std::vector<double> values;
  for (std::size_t i = 0; i <= o.at.size(); ++i)
    values.push_back(value * std::pow(o.factor, static_cast<double>(i)));
  return warmed_up(o.warmup, piecewise(o.at, values));
}

struct FlatCosineOptions {
  double pct_start = 0.75;
  double div_final = 1e5;
  double warmup = 0;
};

void declare_flat_cosine(OptionTable& t, FlatCosineOptions& o) {
  t.number("pct_start", o.pct_start, kShare, "SHARE", "of the training where the cosine begins");
  t.number("div_final", o.div_final, kPositive, "X", "the value is divided by it at the end");
  declare_warmup(t, o.warmup);
}

void declare_one_cycle(OptionTable& t, OneCycleShape& o) {
  constexpr Range kInside{.low = 0, .high = 1, .open_low = true, .open_high = true};
  t.number("warmup", o.pct_start, kInside, "SHARE", "of the training in which the value rises");
  t.number("div", o.div, kPositive, "X", "the value is divided by it at the beginning");
  t.number("div_final", o.div_final, kPositive, "X", "the same at the end");
  t.number("mom_max", o.mom_max, kShare, "M", "momentum at the beginning and the end");
  t.number("mom_min", o.mom_min, kShare, "M", "momentum at the top");
  t.choice("rise", o.linear_rise, {{"cosine", false}, {"line", true}}, "form of the rise");
}

struct SgdrOptions {
  SgdrShape shape;
  double end = 0;
  double warmup = 0;
};

void declare_sgdr(OptionTable& t, SgdrOptions& o) {
  t.number("cycles", o.shape.cycles, {1, 1000}, "N", "cosines, one after the other");
  t.number("cycle_mult", o.shape.cycle_mult, {1, 16}, "N", "each so many times as long as before");
  t.number("end", o.end, kAnyNumber, "X", "factor at the end of each");
  declare_warmup(t, o.warmup);
}

}  // namespace

Registry<Course(double)> schedule_registry() {
  Registry<Course(double)> registry("schedule");
  registry.add(
      "const",
      "stays the same",
      PlainOptions{},
      [](OptionTable& t, PlainOptions& o) { declare_warmup(t, o.warmup); },
      [](const PlainOptions& o, double value) { return warmed_up(o.warmup, constant(value)); });
  add_plain(registry, "linear", "a line", {}, declare_plain, [](double start, double end, double) {
    return linear(start, end);
  });
  add_plain(registry,
            "cosine",
            "half a wave of a cosine",
            {},
            declare_plain,
            [](double start, double end, double) { return cosine(start, end); });
  add_plain(registry,
            "exponential",
            "equal ratios",
            {.end = 0.01},
            declare_plain,
            [](double start, double end, double) { return exponential(start, end); });
  add_plain(registry, "polynomial", "a power of the rest", {}, declare_power, polynomial);
  registry.add("step", "falls at some points", StepOptions{}, declare_step, step);
  registry.add("flat-cos",
               "flat, then a cosine (fastai's fit_flat_cos)",
               FlatCosineOptions{},
               declare_flat_cosine,
               [](const FlatCosineOptions& o, double value) {
                 return warmed_up(o.warmup, flat_cosine(value, o.pct_start, o.div_final));
               });
  registry.add("one-cycle",
               "up and down along cosines, momentum the other way (fastai's fit_one_cycle)",
               OneCycleShape{},
               declare_one_cycle,
               [](const OneCycleShape& o, double value) { return one_cycle(value, o); });
  registry.add("sgdr",
               "cosines with warm restarts (fastai's fit_sgdr)",
               SgdrOptions{},
               declare_sgdr,
               [](const SgdrOptions& o, double value) {
                 return warmed_up(o.warmup, sgdr(value, o.end * value, o.shape));
               });
  return registry;
}

}  // namespace learn::optim
