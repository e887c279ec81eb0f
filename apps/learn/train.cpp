#include "apps/learn/train.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/reporting.h"
#include "apps/experiment/saved_run.h"
#include "apps/learn/signals.h"
#include "callbacks/checkpointer.h"
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/io/run_dir.h"
#include "framework/learner/recorder.h"
#include "framework/report/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace learn::cli {
namespace {

constexpr std::int64_t kDryRunBatches = 3;
constexpr std::int64_t kDevRunBatches = 5;

/// To the terminal and to run.log.
void print_and_log(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
  log::to_file(line);
}

RunRecord new_record(Experiment& experiment, const std::vector<std::string>& argv) {
  const ExperimentOptions& options = experiment.options();
  const data::DataPair& data = experiment.data();
  RunRecord record;
  record.argv = argv;
  record.versions = {{"learn", LEARN_VERSION}, {"compiler", __VERSION__}};
  record.seed = static_cast<std::uint64_t>(options.device.seed);
  record.device = to_string(experiment.context().device());
  record.threads = experiment.context().threads().threads();
  record.model = options.model.model;
  record.parameters = experiment.learner().params().parameter_count();
  record.precision = options.device.precision;
  record.dataset = data.train.name;
  record.synthetic = data.train.synthetic;
  record.fingerprint = data.train.fingerprint();
  record.train_samples = data.train.size();
  record.valid_samples = data.valid.size();
  record.started = utc_now();
  record.epochs = options.training.epochs;
  return record;
}

/// Takes over what is known now from the callbacks.
void update(RunRecord& record, Learner& learn) {
  const auto* recorder = learn.find<Recorder>();
  const auto* checkpointer = learn.find<callbacks::Checkpointer>();
  record.epochs_done = static_cast<std::int64_t>(recorder->epochs().size());
  if (const auto& best = checkpointer->monitor().best())
    record.best =
        RunRecord::Best{checkpointer->monitor().name(), *best, checkpointer->best_epoch()};
  if (recorder->epochs().empty()) return;
  const EpochRecord& last = recorder->epochs().back();
  record.results = {{"train_loss", last.train_loss},
                    {"valid_loss", last.valid_loss},
                    {"seconds", last.seconds},
                    {"images_per_second", last.samples_per_second}};
  for (const auto& [name, value] : last.metrics) record.results[name] = value;
}

/// What is printed when training has ended.
void print_closing(const RunRecord& record, const RunDir& dir, bool plots) {
  const std::string path = dir.path().string();
  if (record.best)
    fmt::print("best  epoch {}  {} {:.4f}  ->  {}\n",
               record.best->epoch,
               record.best->metric,
               record.best->value,
               dir.weights("best").string());
  if (plots) fmt::print("plots {}/results.png {}/lr_schedule.png\n", path, path);
  if (record.status == "interrupted") fmt::print("next  learn train --resume {}\n", path);
  fmt::print("next  learn eval {}\n", path);
  std::fflush(stdout);
}

/// How the fit ended: the status for run.json and the exit code.
int final_status(RunRecord& record, Learner& learn) {
  record.ended = utc_now();
  if (const int number = caught_signal().load(); number != 0) {
    record.status = "interrupted";
    record.error = fmt::format("signal {}", number);
    return 128 + number;
  }
  if (learn.find<callbacks::TerminateOnNan>()->terminated()) {
    record.status = "diverged";
    record.error =
        fmt::format("the loss is not finite at batch {}; try a lower --lr or --clip-norm 1",
                    learn.progress().batch_clock);
    return static_cast<int>(ExitCode::diverged);
  }
  record.status = "finished";
  return static_cast<int>(ExitCode::ok);
}

int run(Experiment& experiment, const RunDir& dir, RunRecord& record) {
  Learner& learn = experiment.learner();
  callbacks::on(
      learn,
      Event::epoch_end,
      [&](Learner& l) {
        update(record, l);
        dir.write(record);
      },
      "run_record",
      order::kTracker + 30);
  dir.write(record);
  try {
    experiment.fit();
  } catch (const std::exception& e) {
    const auto* known = dynamic_cast<const Error*>(&e);
    record.status = "crashed";
    record.error = e.what();
    record.exit_code = static_cast<int>(known != nullptr ? known->exit_code() : ExitCode::internal);
    record.ended = utc_now();
    log::to_file(fmt::format("error: {}", e.what()));
    dir.write(record);
    throw;
  }
  update(record, learn);
  record.exit_code = final_status(record, learn);
  dir.write(record);
  return record.exit_code;
}

/// Takes the state that the run has left, and its record.
void go_on(Experiment& experiment, const RunDir& dir, RunRecord& record) {
  load_run(experiment, dir.path());
  if (const std::string started = dir.started(); !started.empty()) record.started = started;
  record.resumed = utc_now();
  const FitProgress& fit = experiment.learner().progress();
  print_and_log(fmt::format("resumed after {} of {} batches, in epoch {} of {}",
                            fit.batch_clock,
                            fit.fit_batches,
                            std::min(fit.epoch_clock + 1, fit.epochs),
                            fit.epochs));
}

int train_for_real(Experiment& experiment,
                   const TrainOptions& options,
                   const OptionTable& table,
                   const std::vector<std::string>& argv) {
  const RunSection& settings = options.experiment.run;
  const bool resuming = !options.resume.empty();
  const RunDir dir = resuming ? RunDir::open(options.resume)
                              : RunDir::create(settings.out, settings.name, options.exist_ok);
  log::set_file((dir.path() / "run.log").string());
  const std::string config = write_config(table, "train");
  write_file_atomically(dir.path() / "config.toml", config);
  print_and_log(experiment.headline());
  print_and_log(fmt::format("run   {}", dir.path().string()));

  RunRecord record = new_record(experiment, argv);
  add_reporting(experiment, dir.path(), config);
  experiment.learner().add<callbacks::Interrupt>(caught_signal());
  if (resuming) go_on(experiment, dir, record);
  catch_signals();
  const int code = run(experiment, dir, record);
  if (record.status == "interrupted")
    print_and_log("interrupted after a whole batch" +
                  (std::filesystem::exists(dir.weights("last"))
                       ? fmt::format(": the state is in {}", dir.weights("last").string())
                       : ""));
  else if (record.status == "diverged")
    print_and_log(fmt::format("diverged: {}", record.error));
  print_closing(record, dir, settings.plots);
  log::set_file("");
  return code;
}

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

/// A few batches, then what a whole training would take. Writes nothing.
int dry_run(ExperimentOptions options) {
  const std::int64_t epochs = std::exchange(options.training.epochs, 1);
  Experiment experiment(options, kDryRunBatches);
  print_and_log(experiment.headline());
  Learner& learn = experiment.learner();
  auto& recorder = learn.add<Recorder>();
  experiment.fit();
  const double speed = recorder.epochs().back().samples_per_second;
  const auto images = static_cast<double>(experiment.data().train.size() * epochs);
  TextTable plan({{"dry run"}, {""}});
  plan.row({"memory",
            mebibytes(experiment.context().persistent().stats().peak) +
                " parameters, state and data, " +
                mebibytes(experiment.context().step().stats().peak) + " activations"});
  plan.row({"loss",
            fmt::format(
                "{:.4f} after {} batches", recorder.epochs().back().train_loss, kDryRunBatches)});
  plan.row({"speed", fmt::format("{:.0f} samples/s at first, training", speed)});
  plan.row({"time",
            fmt::format("about {} for {} epochs of training", clock_text(images / speed), epochs)});
  fmt::print("{}", plan.to_string());
  return 0;
}

int fast_dev_run(ExperimentOptions options) {
  options.training.epochs = 1;
  Experiment experiment(options, kDevRunBatches);
  print_and_log(experiment.headline());
  add_progress(experiment.learner(), options.run);
  experiment.learner().add<callbacks::Interrupt>(caught_signal());
  catch_signals();
  experiment.fit();
  if (const int number = caught_signal().load(); number != 0) return 128 + number;
  return 0;
}

}  // namespace

int train(const TrainOptions& options,
          const OptionTable& table,
          const std::vector<std::string>& argv) {
  if (options.print_config) {
    fmt::print("{}", write_config(table, "train"));
    return 0;
  }
  if (options.dry_run) return dry_run(options.experiment);
  if (options.fast_dev_run) return fast_dev_run(options.experiment);
  ExperimentOptions start = options.experiment;
  // The checkpoint has what came of them.
  if (!options.resume.empty()) start.model.pretrained.clear();
  Experiment experiment(std::move(start));
  if (!options.explain) return train_for_real(experiment, options, table, argv);
  const RunSection& run = options.experiment.run;
  add_reporting(experiment, std::filesystem::path(run.out) / run.name, "");
  fmt::print("{}", experiment.learner().explain());
  return 0;
}

}  // namespace learn::cli
