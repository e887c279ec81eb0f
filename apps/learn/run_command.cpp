#include "apps/learn/run_command.h"

#include "apps/learn/command_line.h"
#include "apps/learn/doctor.h"
#include "apps/learn/eval.h"
#include "apps/learn/models.h"
#include "apps/learn/options.h"
#include "apps/learn/train.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <cstdio>
#include <new>

namespace learn::cli {
namespace {

OptionTable eval_table(EvalOptions& o) {
  OptionTable t;
  t.group("Options");
  t.text("weights", o.weights, "best|last|...", "which checkpoint of a run");
  t.text("data", o.data, "NAME|DIR", "other data than it was trained on");
  t.text("data-dir", o.data_dir, "DIR", "folder of the data sets");
  t.number("valid-limit", o.valid_limit, kNotNegative, "N", "number of images; 0: as in training");
  t.number("batch-size", o.batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("workers", o.workers, {.low = 0, .high = 64}, "N", "threads that prepare batches");
  t.choice("precision",
           o.precision,
           {"fp32", "tf32"},
           "tf32: a GPU may round the factors of products to 10 bits");
  t.text("device", o.device, "auto|cpu|cuda[:N]", "where to compute");
  declare_cuda_options(t, o.cuda);
  t.number(
      "threads", o.threads, {.low = 0, .high = 1024}, "N", "CPU threads; 0: one per physical core");
  return t;
}

OptionTable models_table(ModelsOptions& o) {
  OptionTable t;
  t.group("Options");
  t.number("classes", o.classes, kPositive, "N", "outputs");
  t.number("image-size", o.image_size, kPositive, "N", "pictures of N x N");
  t.number("width", o.width, kNotNegative, "N", "width of the model; 0: its default");
  return t;
}

OptionTable doctor_table(DoctorOptions& o) {
  OptionTable t;
  t.group("Options");
  t.text("data-dir", o.data_dir, "DIR", "folder of the data sets; default: $LEARN_DATA, then ./data");
  t.number(
      "threads", o.threads, {.low = 0, .high = 1024}, "N", "CPU threads; 0: one per physical core");
  t.number("seconds",
           o.seconds,
           {.low = 0, .high = 60},
           "S",
           "time for the matrix product; 0: leave it out");
  return t;
}

int dispatch(const std::vector<std::string>& argv) {
  TrainOptions train_options;
  EvalOptions eval_options;
  ModelsOptions models_options;
  DoctorOptions doctor_options;
  const OptionTable no_options;
  const OptionTable train_options_table = train_table(train_options);
  const OptionTable eval_options_table = eval_table(eval_options);
  const OptionTable models_options_table = models_table(models_options);
  const OptionTable doctor_options_table = doctor_table(doctor_options);
  const std::vector<Command> commands{
      {"train", "train a model on images", "", "", false, &train_options_table},
      {"eval",
       "measure a trained model",
       "RUN|CKPT",
       "folder of a run, or a .safetensors file",
       true,
       &eval_options_table},
      {"models",
       "list the models, or show the layers of one",
       "NAME",
       "of a model",
       false,
       &models_options_table},
      {"options",
       "list what is chosen by name, with its options: callbacks, data sets, models, ...",
       "NAME",
       "of a kind (callback, data, model, optimizer, schedule), or of one of it",
       false,
       &no_options},
      {"doctor",
       "report this machine: processor, memory, CUDA, data sets, speed",
       "",
       "",
       false,
       &doctor_options_table}};
  const Parsed parsed = parse_command_line(argv, commands, LEARN_VERSION);
  if (!parsed.print.empty()) {
    fmt::print("{}", parsed.print);
    return 0;
  }
  log::set_level(parsed.quiet     ? log::Level::warn
                 : parsed.verbose ? log::Level::debug
                                  : log::Level::info);
  if (parsed.command == "train") {
    resolve(train_options, train_options_table, parsed.values);
    return train(train_options, train_options_table, argv);
  }
  if (parsed.command == "eval") {
    set_options(eval_options_table, parsed.values);
    eval_options.path = parsed.argument;
    return eval(eval_options);
  }
  if (parsed.command == "options") return options(parsed.argument);
  if (parsed.command == "doctor") {
    set_options(doctor_options_table, parsed.values);
    return doctor(doctor_options);
  }
  set_options(models_options_table, parsed.values);
  models_options.name = parsed.argument;
  return models(models_options);
}

int report(const char* what, ExitCode code) {
  log::flush();
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", what);
  return static_cast<int>(code);
}

}  // namespace

int run_command(const std::vector<std::string>& argv) noexcept {
  try {
    return dispatch(argv);
  } catch (const Error& e) {
    return report(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return report("out of memory: try a smaller --batch-size", ExitCode::out_of_memory);
  } catch (const std::exception& e) {
    return report(
        (std::string(e.what()) + "\nThis is a fault of learn itself; please report it.").c_str(),
        ExitCode::internal);
  }
}

}  // namespace learn::cli
