#include "apps/learn/cli/run_command.h"

#include "apps/learn/cli/command_line.h"
#include "apps/learn/cli/command_manual.h"
#include "apps/learn/cli/completion.h"
#include "apps/learn/cli/help.h"
#include "apps/learn/common/run_argument.h"
#include "apps/learn/common/signals.h"
#include "apps/learn/data/data_command.h"
#include "apps/learn/data/show_batch.h"
#include "apps/learn/info/autocast.h"
#include "apps/learn/info/doctor.h"
#include "apps/learn/info/models.h"
#include "apps/learn/info/options.h"
#include "apps/learn/model/average.h"
#include "apps/learn/model/eval.h"
#include "apps/learn/model/export.h"
#include "apps/learn/model/import.h"
#include "apps/learn/model/predict.h"
#include "apps/learn/report/report.h"
#include "apps/learn/runs/plot.h"
#include "apps/learn/runs/runs.h"
#include "apps/learn/training/audit.h"
#include "apps/learn/training/batch_size_find.h"
#include "apps/learn/training/lr_find.h"
#include "apps/learn/training/show_schedule.h"
#include "apps/learn/training/train.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/version.h"

#include <cstdio>
#include <memory>
#include <new>
#include <string_view>

namespace learn::cli {
namespace {

Command train_command(const std::vector<std::string>& argv) {
  const auto o = std::make_shared<TrainOptions>();
  const OptionTable t = train_table(*o);
  return {.name = "train",
          .help = "train a model on images",
          .options = t,
          .run = [o, t, argv](const Parsed& parsed) {
            resolve(*o, t, parsed.values);
            return train(*o, t, argv);
          }};
}

Command eval_command() {
  const auto o = std::make_shared<EvalOptions>();
  const OptionTable t = o->table();
  return {.name = "eval",
          .help = "measure a trained model",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->path = parsed.argument();
                return eval(*o);
              },
          .arguments = {{.name = "RUN|FILE|last", .help = kRunHelp, .required = true}}};
}

Command predict_command() {
  const auto o = std::make_shared<PredictOptions>();
  const OptionTable t = o->table();
  return {.name = "predict",
          .help = "say what is on images, with a trained model",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->path = parsed.argument();
                o->images = parsed.arguments[1];
                return predict(*o);
              },
          .arguments = {
              {.name = "RUN|FILE|last", .help = kRunHelp, .required = true},
              {.name = "IMAGE",
               .help = "files of JPEG, PNG, WebP, TIFF, BMP, GIF or PNM, folders and archives "
                       "of them, or -: one of these through standard input; of an image that "
                       "has another shape than the model's input, the middle is seen",
               .required = true,
               .several = true}}};
}

Command export_command() {
  const auto o = std::make_shared<ExportOptions>();
  const OptionTable t = o->table();
  return {.name = "export",
          .help = "write a trained model for ONNX runtimes or for PyTorch",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->path = parsed.argument();
                o->file = parsed.argument(1);
                return export_model(*o);
              },
          .arguments = {{.name = "RUN|FILE|last", .help = kRunHelp, .required = true},
                        {.name = "TARGET",
                         .help = "FILE.onnx; or FILE.safetensors for PyTorch, beside which FILE.py "
                                 "is written",
                         .required = true}}};
}

Command import_command() {
  const auto o = std::make_shared<ImportOptions>();
  const OptionTable t = o->table();
  return {.name = "import",
          .help = "make weights of PyTorch ours",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->file = parsed.argument();
                return import_weights(*o);
              },
          .arguments = {{.name = "FILE", .help = "a state dict, .safetensors", .required = true}}};
}

Command average_command() {
  const auto o = std::make_shared<AverageOptions>();
  const OptionTable t = o->table();
  return {.name = "average",
          .help = "write the mean of the weights of several checkpoints",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->paths = parsed.arguments[0];
                return average(*o);
              },
          .arguments = {{.name = "RUN|FILE",
                         .help = "names of runs in runs, their folders, and .safetensors files",
                         .required = true,
                         .several = true}}};
}

Command models_command() {
  const auto o = std::make_shared<ModelsOptions>();
  OptionTable t;
  t.group("Options");
  t.number("classes", o->classes, {.low = 1, .high = 1 << 20}, "N", "outputs");
  t.number("image-size", o->image_size, data::kImageSide, "N", "images of N x N");
  t.number("width",
           o->width,
           {.low = 0, .high = models::kWidth.high},
           "N",
           "width of the model; 0: its default");
  o->precision.declare_layers(t);
  return {.name = "models",
          .help = "list the models, or show the layers of one",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->name = parsed.argument();
                return models(*o);
              },
          .arguments = {{.name = "NAME", .help = "of a model", .known = [] {
                           return models::model_registry().names();
                         }}}};
}

Command options_command() {
  return {
      .name = "options",
      .help = "list what is chosen by name, with its options: callbacks, models, ...",
      .options = {},
      .run = [](const Parsed& parsed) { return options(parsed.argument()); },
      .arguments = {
          {.name = "NAME",
           .help =
               "of a kind (callback, data, metric, model, optimizer, schedule), or of one of it",
           .known = choice_names}}};
}

Command autocast_command() {
  return {.name = "autocast",
          .help = "list what each operation computes in under --precision fp16-amp and bf16-amp",
          .options = {},
          .run = [](const Parsed&) { return autocast_rules(); }};
}

Command audit_command() {
  const auto o = std::make_shared<AuditOptions>();
  const auto scratch = std::make_shared<TrainOptions>();
  const OptionTable t = audit_table(*o);
  return {
      .name = "audit",
      .help = "train some steps in fp32 and in half precision, and say where they depart and why",
      .options = t,
      .run =
          [o, t, scratch](const Parsed& parsed) {
            resolve(*o, t, parsed.values);
            return audit(*o);
          },
      .without_effect = rest_of_train(*scratch, t)};
}

Command runs_command() {
  const auto o = std::make_shared<RunsOptions>();
  const OptionTable t = o->table();
  return {.name = "runs",
          .help = "list runs, show one, compare several, or remove them",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->names = parsed.arguments[0];
                return runs(*o);
              },
          .arguments = {{.name = "RUN",
                         .help = "names in --out or folders, or last: one to show, several to "
                                 "compare; none: list all",
                         .several = true}}};
}

Command plot_command() {
  const auto o = std::make_shared<PlotOptions>();
  OptionTable t;
  t.group("Options");
  t.choice("what",
           o->what,
           {"results", "schedule"},
           "losses and metrics, or what the steps were made with");
  t.text("out", o->out, "FILE", "the drawing to write, a .png or an .svg file");
  return {.name = "plot",
          .help = "draw the losses and metrics of runs, several in one plot",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->runs = parsed.arguments[0];
                return plot(*o);
              },
          .arguments = {{.name = "RUN",
                         .help = "names of runs in runs, or their folders",
                         .required = true,
                         .several = true}}};
}

Command report_command() {
  const auto o = std::make_shared<ReportOptions>();
  const OptionTable t = o->table();
  return {.name = "report",
          .help = "write a page for the browser about a run, or several side by side",
          .options = t,
          .run =
              [o, t](const Parsed& parsed) {
                set_options(t, parsed.values);
                o->runs = parsed.arguments[0];
                return report(*o);
              },
          .arguments = {{.name = "RUN|last",
                         .help = "names of runs in runs, their folders, or the latest one",
                         .required = true,
                         .several = true}}};
}

Command show_batch_command() {
  const auto o = std::make_shared<ShowBatchOptions>();
  const auto scratch = std::make_shared<TrainOptions>();
  const OptionTable t = show_batch_table(*o);
  return {.name = "show-batch",
          .help = "draw images of a training's batches, as they are and augmented",
          .options = t,
          .run =
              [o, t, scratch](const Parsed& parsed) {
                resolve(*o, t, parsed.values);
                return show_batch(*o);
              },
          .without_effect = rest_of_train(*scratch, t)};
}

Command show_schedule_command() {
  const auto o = std::make_shared<ShowScheduleOptions>();
  const auto scratch = std::make_shared<TrainOptions>();
  const OptionTable t = show_schedule_table(*o);
  return {.name = "show-schedule",
          .help = "show how learning rate, momentum and the like will move in a training",
          .options = t,
          .run =
              [o, t, scratch](const Parsed& parsed) {
                resolve(*o, t, parsed.values);
                return show_schedule(*o);
              },
          .without_effect = rest_of_train(*scratch, t)};
}

Command lr_find_command() {
  const auto o = std::make_shared<LrFindCommandOptions>();
  const auto scratch = std::make_shared<TrainOptions>();
  const OptionTable t = lr_find_table(*o);
  return {.name = "lr-find",
          .help = "try learning rates from small to large, and suggest one for a training",
          .options = t,
          .run =
              [o, t, scratch](const Parsed& parsed) {
                resolve(*o, t, parsed.values);
                return lr_find(*o);
              },
          .without_effect = rest_of_train(*scratch, t)};
}

Command batch_size_find_command() {
  const auto o = std::make_shared<BatchSizeFindCommandOptions>();
  const auto scratch = std::make_shared<TrainOptions>();
  const OptionTable t = batch_size_find_table(*o);
  return {.name = "batch-size-find",
          .help = "time training steps at batch sizes that fit in memory, and suggest one",
          .options = t,
          .run =
              [o, t, scratch](const Parsed& parsed) {
                resolve(*o, t, parsed.values);
                return batch_size_find(*o);
              },
          .without_effect = rest_of_train(*scratch, t)};
}

Command data_command_entry() {
  const auto o = std::make_shared<DataCommandOptions>();
  const OptionTable t = data_command_table(*o);
  return {
      .name = "data",
      .help = "look at a data set: what is in it, what is wrong with it; write one as files",
      .options = t,
      .run = [o, t](const Parsed& parsed) { return data_command(*o, t, parsed); },
      .arguments = {{.name = "info|show|verify|make",
                     .help = "count it, draw some of it, decode and check all of it, or write it "
                             "as PNG files with a table",
                     .required = true},
                    {.name = "DATA", .help = "as --data of 'learn train'", .required = true},
                    {.name = "DIR", .help = "the folder that make writes"}}};
}

Command doctor_command() {
  const auto o = std::make_shared<DoctorOptions>();
  OptionTable t;
  t.group("Options");
  declare_data_dir(t, o->data_dir);
  declare_threads(t, o->threads);
  t.number("seconds",
           o->seconds,
           {.low = 0, .high = 60},
           "S",
           "time for the matrix product; 0: leave it out");
  return {.name = "doctor",
          .help = "report this machine: processor, memory, CUDA, data sets, speed",
          .options = t,
          .run = [o, t](const Parsed& parsed) {
            set_options(t, parsed.values);
            return doctor(*o);
          }};
}

int report(std::string_view what, ExitCode code) {
  log::flush();
  console::say(stderr, fmt::format("error: {}", what));
  return static_cast<int>(code);
}

/// Their values are checked all the same.
void say_without_effect(const Parsed& parsed) {
  if (parsed.without_effect.empty()) return;
  set_options(parsed.command->without_effect, parsed.without_effect);
  std::vector<std::string> names;
  for (const auto& [name, text] : parsed.without_effect) names.push_back("--" + name);
  log::info("[options] without effect in 'learn {}': {}", parsed.command->name, join(names));
}

int dispatch(const std::vector<std::string>& argv) {
  const auto commands = all_commands(argv);
  // For the shells' scripts: no command that people see, and words of it may be empty.
  if (!argv.empty() && argv.front() == "__complete") {
    console::print(completions(*commands, {argv.begin() + 1, argv.end()}));
    return 0;
  }
  const Parsed parsed = parse_command_line(argv, *commands, LEARN_VERSION);
  if (!parsed.print.empty()) {
    console::print(parsed.print);
    return 0;
  }
  log::set_level(parsed.quiet     ? log::Level::warn
                 : parsed.verbose ? log::Level::debug
                                  : log::Level::info);
  say_without_effect(parsed);
  try {
    return parsed.command->run(parsed);
  } catch (const std::bad_alloc&) {
    if (parsed.command->options.find("batch-size") == nullptr) throw;
    return report("out of memory: try a smaller --batch-size", ExitCode::out_of_memory);
  }
}

}  // namespace

std::unique_ptr<const std::vector<Command>> all_commands(const std::vector<std::string>& argv) {
  auto commands = std::make_unique<std::vector<Command>>();
  for (Command (*const make)() : {lr_find_command,
                                  batch_size_find_command,
                                  eval_command,
                                  predict_command,
                                  export_command,
                                  import_command,
                                  average_command,
                                  models_command,
                                  options_command,
                                  autocast_command,
                                  audit_command,
                                  runs_command,
                                  plot_command,
                                  report_command,
                                  data_command_entry,
                                  show_batch_command,
                                  show_schedule_command,
                                  doctor_command,
                                  completion_command})
    commands->push_back(make());
  commands->push_back(train_command(argv));
  commands->push_back(help_command(*commands));
  commands->push_back(man_command(*commands));
  add_manual(*commands);
  return commands;
}

int run_command(const std::vector<std::string>& argv) noexcept {
  console::hold_standard_streams();
  ignore_file_size_signal();
  try {
    return dispatch(argv);
  } catch (const Error& e) {
    return report(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return report("out of memory", ExitCode::out_of_memory);
  } catch (const std::exception& e) {
    return report(std::string(e.what()) + "\nThis is a fault of learn itself; please report it.",
                  ExitCode::internal);
  }
}

}  // namespace learn::cli
