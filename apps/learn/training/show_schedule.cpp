#include "apps/learn/training/show_schedule.h"

#include "apps/experiment/experiment.h"
#include "apps/learn/cli/command.h"
#include "callbacks/report/schedule_preview.h"
#include "framework/core/console.h"
#include "framework/runs/result_path.h"

namespace learn::cli {

namespace {

const std::vector<std::string>& of_training() {
  static const std::vector<std::string> names{
      "data",       "data-dir",  "classes",  "val-split",    "train-limit", "drop-last", "model",
      "pretrained", "split",     "epochs",   "fine-tune",    "batch-size",  "lr",        "schedule",
      "warmup",     "optimizer", "momentum", "weight-decay", "callbacks",   "config",    "preset"};
  return names;
}

}  // namespace

OptionTable ShowScheduleOptions::table() {
  OptionTable t = some_of_train(train, of_training());
  t.group("This call");
  t.text("out", out, "FILE", "the drawing to write, a .png or an .svg file");
  return t;
}

void ShowScheduleOptions::resolve(const OptionTable& table, const OptionValues& command_line) {
  resolve_some(of_training(), table, command_line);
}

int show_schedule(const ShowScheduleOptions& o) {
  plot::check_drawing_path(o.out);
  check_result_path(o.out, o.train.experiment.data.sources());
  ExperimentOptions options = o.train.experiment;
  DeviceSection nowhere;  // nothing is computed
  nowhere.device = "cpu";
  nowhere.seed = options.device.seed;
  options.device = nowhere;
  options.model.pretrained.clear();
  options.data.leave_out_validation();
  const std::int64_t epochs = options.training.epochs;
  const std::string title =
      fmt::format("{}, {}",
                  options.training.fine_tune > 0 ? "fine-tune" : options.training.schedule,
                  options.training.optimizer);
  Experiment experiment(std::move(options));
  const callbacks::SchedulePreview preview =
      callbacks::preview_schedule(experiment.learner(), epochs);
  plot::save(o.out, preview.figure(title));
  console::print(fmt::format("{}-> {}\n", preview.to_string(), o.out));
  return 0;
}

void register_show_schedule(Commands& commands) {
  commands.add<ShowScheduleOptions>(
      {.name = "show-schedule",
       .group = Group::runs,
       .place = 4,
       .help = "show the learning rate, momentum and other schedules of a training",
       .examples = {{"Show the learning rate of a training",
                     "learn show-schedule --data ~/photos --schedule flat-cos --epochs 20"}}},
      [](ShowScheduleOptions& o, const Parsed&) { return show_schedule(o); });
}

}  // namespace learn::cli
