// Registers the callbacks of framework/learner by name, as the other files of this folder do for
// theirs.
#include "callbacks/registry.h"
#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/param_scheduler.h"
#include "framework/optim/registry.h"

namespace learn::callbacks {
namespace {

struct SchedulerOptions {
  Hyper hyper = Hyper::lr;
  double value = 1;
  std::string schedule = "linear";
  Clock clock = Clock::batch;
};

void declare_param_scheduler(OptionTable& t, SchedulerOptions& o) {
  t.choice("hyper", o.hyper, hypers_by_name(), "hyper-parameter to schedule");
  t.number("value", o.value, kAnyNumber, "X", "base value that the schedule's factors multiply");
  declare_spec(t,
               "schedule",
               o.schedule,
               optim::schedule_registry(),
               "NAME|(NAME:OPTION=...)",
               "one of " + join(optim::schedule_registry().names()));
  t.choice("clock",
           o.clock,
           {{"batch", Clock::batch}, {"step", Clock::step}},
           "advance by batches seen, or by updates made");
}

CallbackWithEvents param_scheduler(const SchedulerOptions& o, const RunSettings&) {
  const optim::Course course = optim::schedule_registry().make(o.schedule)(o.value, 0);
  return make_callback<ParamScheduler>(
      Role::trains, std::vector{ScheduledHyper{o.hyper, {course.lr}}}, o.clock);
}

void declare_progress(OptionTable& t, ProgressOptions& o) {
  t.choice(
      "live",
      o.live,
      {{"auto", Live::automatic}, {"bar", Live::bar}, {"lines", Live::lines}, {"off", Live::off}},
      "display between the rows");
  t.number("heartbeat", o.heartbeat_seconds, kPositive, "SECONDS", "interval of lines");
}

}  // namespace

void register_learner_callbacks(CallbackRegistry& registry) {
  registry.add("param_scheduler",
               "schedules a hyper-parameter",
               SchedulerOptions{},
               declare_param_scheduler,
               param_scheduler);
  registry.add(
      "recorder",
      "records losses, rates and times for other callbacks",
      Recorder::kBeta,
      [](OptionTable& t, double& beta) {
        t.number("beta", beta, kShare, "X", "smoothing of the displayed loss");
      },
      [](double beta, const RunSettings&) { return make_callback<Recorder>(Role::reports, beta); });
  registry.add("progress",
               "prints a table of epochs, with a progress bar or lines",
               ProgressOptions{},
               declare_progress,
               [](const ProgressOptions& o, const RunSettings&) {
                 return make_callback<Progress>(Role::reports, o);
               });
}

}  // namespace learn::callbacks
