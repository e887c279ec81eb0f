#include "apps/experiment/run_section.h"

#include "callbacks/diagnose/inject.h"
#include "callbacks/early_stopping.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/learner.h"

namespace learn {
namespace {

constexpr const char* kOfClasses = "accuracy";
constexpr const char* kOfOthers = "valid_loss";

}  // namespace

void RunSection::declare(OptionTable& t) {
  t.group("Run");
  t.text("out", out, "DIR", "folder of all runs").may_change = true;
  t.text("name", name, "NAME", "name of this run; numbered if it exists");
  t.number("save-every",
           save_every,
           kNotNegative,
           "N",
           "keep a checkpoint every N epochs; 0: last and best only");
  Option& best =
      t.text("monitor",
             monitor,
             "VALUE",
             "value that makes an epoch the best: accuracy, valid_loss, train_loss, ...");
  best.when_absent = "accuracy of classes, valid_loss of several labels and of real numbers";
  best.toml = [this] { return monitor.empty() ? std::string() : toml_text(monitor); };
  best.by_default = [this] {
    if (!usual_monitor.empty()) return std::vector<std::string>{toml_text(usual_monitor)};
    return std::vector<std::string>{toml_text(kOfClasses), toml_text(kOfOthers)};
  };
  best.clear = [this] { monitor.clear(); };
  t.number(
      "patience", patience, kNotNegative, "N", "stop after N epochs without improvement; 0: never");
  t.choice("nan",
           on_nan,
           {{"stop", OnNan::stop}, {"rollback", OnNan::rollback}},
           "if the loss is infinite or NaN: end the run, or return to the last checkpoint and "
           "halve the learning rate, up to 3 times")
      .may_change = true;
  Option& specs = t.list(
      "callbacks",
      callbacks,
      ';',
      "SPEC;...",
      "additional callbacks, which replace a built-in one of the same name: "
      "'gradient_clip:limit=1,by=value;checkpointer:every=2'; 'learn options callback' lists them");
  specs.set = [this, set_list = specs.set](const std::string& text) {
    set_list(text);
    for (const std::string& spec : callbacks) (void)learn::callbacks::make_from_text(spec);
  };
  Option& faults = t.text("inject",
                          inject,
                          "FAULT@N[:WHERE],...",
                          "inject faults into the N-th training batch, to rehearse failures: "
                          "'overflow@17,nan@23:layer3.conv,nan_act@25:layer1,spike@27:100,inf_loss@"
                          "30-32,slow@40:2s,throw@50:step_begin,kill@60'; not part of the "
                          "configuration, so a resumed run does not repeat them");
  faults.in_config = false;
  faults.set = [this](const std::string& text) {
    (void)learn::callbacks::parse_faults(text);
    inject = text;
  };
  t.flag("plots", plots, "draw results.png and lr_schedule.png").may_change = true;
  t.flag("report", report, "write report.html at the end of the training, as 'learn report' does")
      .may_change = true;
  t.flag("progress", progress, "show a progress bar, or a line from time to time").may_change =
      true;
}

const std::string* RunSection::named(std::string_view callback) const {
  for (const std::string& spec : callbacks)
    if (Spec::parse(spec).name == callback) return &spec;
  return nullptr;
}

void RunSection::check() const {
  if (const std::string* const faults = named("inject"); faults != nullptr && !inject.empty())
    fail<UsageError>(
        "--inject {} and --callbacks {}: give all faults in one place", inject, *faults);
  const std::string* const checkpointer = named("checkpointer");
  if (save_every > 0 && checkpointer != nullptr)
    fail<UsageError>("--save-every {} has no effect with --callbacks {}: add every={} to it",
                     save_every,
                     *checkpointer,
                     save_every);
}

void RunSection::know(TargetKind kind) {
  targets = kind;
  usual_monitor = targets == TargetKind::classes ? kOfClasses : kOfOthers;
}

void RunSection::leave_out_without_effect(const std::set<std::string>& given) {
  if (given.contains("callbacks") && !given.contains("save-every") &&
      named("checkpointer") != nullptr)
    save_every = 0;
}

void RunSection::add_callbacks(Learner& learn) const {
  // StepNorms' metrics are known only when it is added, along with the reporting callbacks.
  if (named("step_norms") == nullptr) Monitor(monitor).check_known(learn);
  if (patience > 0)
    learn.add<learn::callbacks::EarlyStopping>(
        learn::callbacks::EarlyStoppingOptions{.monitor = monitor, .patience = patience});
  learn::callbacks::add_from_texts(
      learn, callbacks, learn::callbacks::Role::trains, {.monitor = monitor, .targets = targets});
  if (!inject.empty())
    learn.add<learn::callbacks::FaultInjection>(learn::callbacks::parse_faults(inject));
  if (learn.find<learn::callbacks::TerminateOnNan>() == nullptr)
    learn.add<learn::callbacks::TerminateOnNan>();
}

}  // namespace learn
