#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/reporting.h"
#include "apps/experiment/saved_run.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/common/host.h"
#include "apps/learn/common/ranks.h"
#include "apps/learn/common/signals.h"
#include "apps/learn/report/report_page.h"
#include "apps/learn/training/ending.h"
#include "apps/learn/training/joint_run.h"
#include "apps/learn/training/short_grace.h"
#include "apps/learn/training/train_options.h"
#include "apps/learn/training/trial_runs.h"
#include "callbacks/checkpointer.h"
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/options/quoting.h"
#include "framework/core/printable.h"
#include "framework/core/version.h"
#include "framework/io/atomic_file.h"
#include "framework/io/csv.h"
#include "framework/io/free_space.h"
#include "framework/learner/exchange.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/share_state.h"
#include "framework/runs/run_dir.h"
#include "framework/terminal/word_wrap.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace learn::cli {
namespace {

/// Writes useful information to the terminal, unless quiet, and to run.log.
void tell(const std::string& line) {
  if (log::enabled(log::Level::info)) console::say(stderr, folded(line, stderr));
  log::to_file(line);
}

RunRecord new_record(Experiment& experiment, const std::vector<std::string>& argv) {
  const ExperimentOptions& options = experiment.options();
  const data::DataPair& data = experiment.data();
  RunRecord record;
  record.argv = argv;
  record.versions = {{"learn", LEARN_VERSION}, {"compiler", __VERSION__}};
  record.machine = machine_facts(experiment.context().device());
  if (const Exchange* const ranks = experiment.learner().exchange())
    record.machine["ranks"] =
        fmt::format("{}, on {} host(s)", ranks->share().ranks, ranks->hosts());
  record.seed = static_cast<std::uint64_t>(options.device.seed);
  record.device = to_string(experiment.context().device());
  record.threads = experiment.context().threads().threads();
  record.model = options.model.model;
  record.parameters = experiment.learner().params().parameter_count();
  record.precision = options.precision.chosen();
  record.dataset = data.train.name;
  record.synthetic = data.train.synthetic;
  record.fingerprint = data.train.fingerprint();
  record.train_samples = data.train.size();
  record.valid_samples = data.valid.size();
  record.started = utc_now();
  record.epochs = options.training.epochs;
  return record;
}

/// Copies the current results of the callbacks.
void update(RunRecord& record, Learner& learn) {
  auto* const recorder = learn.find<Recorder>();
  const auto* checkpointer = learn.find<callbacks::Checkpointer>();
  record.epochs_done = recorder->epochs_seen();
  if (const auto& best = checkpointer->monitor().best())
    record.best =
        RunRecord::Best{checkpointer->monitor().name(), *best, checkpointer->best_epoch()};
  float highest = 0;
  for (const BatchRecord& batch : recorder->batches(learn)) highest = std::max(highest, batch.lr);
  // Prints and parses it to record the given number: 0.01, not the float's 0.009999999776.
  record.peak_lr = parse_real(fmt::format("{}", highest), kAnyNumber);
  const SkipHistory& steps = recorder->steps(learn);
  record.steps = {.applied = steps.counts().applied,
                  .skipped = steps.counts().skipped,
                  .loss_scale = static_cast<double>(steps.loss_scale()),
                  .records = {}};
  for (const StepRecord& step : steps.records())
    record.steps.records.push_back({step.batch,
                                    std::string(name_of(step.event)),
                                    static_cast<double>(step.scale_before),
                                    static_cast<double>(step.scale_after)});
  if (recorder->epochs().empty()) return;
  const EpochRecord& last = recorder->epochs().back();
  record.results = {{"train_loss", last.train_loss},
                    {"valid_loss", last.valid_loss},
                    {"seconds", last.seconds},
                    {"samples_per_second", last.samples_per_second}};
  for (const auto& [name, value] : last.metrics) record.results[name] = value;
}

/// Prints the summary at the end of the training.
void show_closing(const RunRecord& record, const RunDir& dir, const RunSection& settings) {
  const std::string path = shell_word(dir.path().string());
  if (record.best)
    console::say(stdout,
                 fmt::format("best  epoch {}  {} {:.4f}  ->  {}",
                             record.best->epoch,
                             record.best->metric,
                             record.best->value,
                             shell_word(dir.weights("best").string())));
  if (!log::enabled(log::Level::info)) return;
  if (settings.plots)
    console::say(stdout,
                 fmt::format("plots {} {}",
                             shell_word((dir.path() / "results.png").string()),
                             shell_word((dir.path() / "lr_schedule.png").string())));
  if (const std::filesystem::path page = dir.path() / "report.html";
      settings.report && std::filesystem::exists(page))
    console::say(stdout, "page  " + shell_word(page.string()));
  const bool saved = std::filesystem::exists(dir.weights("last"));
  if (record.status == "interrupted" && saved)
    console::say(stdout, fmt::format("next  learn train --resume {}", path));
  if (saved || record.best) console::say(stdout, fmt::format("next  learn eval {}", path));
}

/// The record of a run that ends by an error. The user must see that error, so an error in writing
/// the record is only logged.
void record_crash(const RunDir& dir,
                  RunRecord& record,
                  Learner& learn,
                  const std::exception& e) noexcept {
  try {
    const auto* known = dynamic_cast<const Error*>(&e);
    const bool diverged = dynamic_cast<const DivergedError*>(&e) != nullptr;
    if (diverged) update(record, learn);  // the device may be the cause of other errors
    record.status = diverged ? "diverged" : "crashed";
    record.error = e.what();
    record.exit_code = static_cast<int>(known != nullptr ? known->exit_code() : ExitCode::internal);
    record.ended = utc_now();
    log::to_file(fmt::format("error: {}", e.what()));
    dir.write(record);
  } catch (const std::exception& second) {
    console::say(stderr, second.what());
  }
}

/// SIGUSR1 saves the state after the running batch, or the running update.
void save_when_asked(Learner& learn) {
  if (learn.progress().activity != Activity::fit || !learn.progress().training) return;
  if (learn.progress().gradients_held || !checkpoint_was_asked_for()) return;
  tell(fmt::format("saved the state after batch {} to {}",
                   learn.progress().batch_clock,
                   learn.find<callbacks::Checkpointer>()->save_last(learn).string()));
}

/// The first line of a text that is not UTF-8, shown as it can be.
std::string line_with_bytes(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line) && is_utf8(line)) {
  }
  return utf8_text(line);
}

/// Checkpoints and configuration are UTF-8, which the first epoch's end is too late to find out.
void check_utf8(const Metadata& metadata) {
  for (const auto& [key, value] : metadata)
    if (!is_utf8(value))
      fail<UsageError>(
          "a name is not UTF-8, so checkpoints could not record it: rename the file or folder, or "
          "use a link to it: {}",
          line_with_bytes(value));
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
  callbacks::on(learn, Event::batch_end, save_when_asked, "save_when_asked", order::kTracker + 30);
  warn_of_short_grace(learn);
  try {
    dir.write(record);
    experiment.fit();
    update(record, learn);
    const Ending ending = ending_of(learn);
    record.status = ending.status;
    record.error = ending.error;
    record.exit_code = ending.exit_code;
    record.ended = std::max(utc_now(), record.started);  // the clock may have been set back
    dir.write(record);
  } catch (const std::exception& e) {
    record_crash(dir, record, learn, e);
    throw;
  }
  return record.exit_code;
}

/// Takes the state that the run has left, and its record. `extends`: for a further fit.
void go_on(Experiment& experiment,
           const RunDir& dir,
           RunRecord& record,
           bool extends,
           Communicator* ranks) {
  Learner& learn = experiment.learner();
  resume_run(experiment, dir.path());
  if (ranks != nullptr) share_state(learn, *ranks);
  RunRecord past = read_past(dir.path());
  past.resumes.push_back({utc_now(), record.argv, record.precision});
  record.resumes = std::move(past.resumes);
  if (!past.argv.empty()) record.argv = std::move(past.argv);
  if (!past.started.empty()) record.started = std::move(past.started);
  const FitProgress& fit = learn.progress();
  const std::int64_t before = extends ? fit.epoch_clock : fit.fit_first_epoch;
  record.epochs += before;
  if (extends) {
    learn.optimizer().set_lr_factor(1);  // a separate schedule
    return tell(fmt::format("extends a run of {} epochs by {}", before, record.epochs - before));
  }
  learn.resume();
  tell(fmt::format("resumed after {} of {} batches, in epoch {} of {}",
                   fit.batch_clock - fit.fit_first_batch,
                   fit.fit_batches,
                   std::min(fit.epoch_clock + 1, record.epochs),
                   record.epochs));
}

/// The files that have no image, of a set that may have some.
void list_skipped(const std::vector<data::SkippedFile>& skipped, const RunDir& dir) {
  if (skipped.empty()) return;
  std::vector<std::vector<Cell>> rows;
  for (const data::SkippedFile& file : skipped) rows.push_back({file.file, file.why});
  CsvWriter(dir.path() / "skipped.csv", {"file", "why"}).rows(rows);
}

/// The page about a run that has come to its end. No run fails for it.
/// `measure`: what the model does with its validation images, which may take long.
void write_report(Experiment& experiment, const RunDir& dir, bool measure) {
  const DeviceSection& device = experiment.options().device;
  const std::filesystem::path page = dir.path() / "report.html";
  try {
    RunReport report = report_run(dir.path(),
                                  {.evaluate = measure,
                                   .compute = {.device = to_string(experiment.context().device()),
                                               .winograd = device.winograd,
                                               .cuda = device.cuda,
                                               .threads = device.threads}},
                                  &experiment.loaders());
    if (!measure)
      report.evaluation = {html::Note{
          fmt::format("Not measured, because the training was interrupted: run 'learn report {}'.",
                      shell_word(dir.path().string()))}};
    html::save(page, report_page({&report, 1}));
  } catch (const Error& e) {
    log::warn("[report] '{}' is not written: {}", page.string(), e.what());
  }
}

/// Prints final messages after any kind of end.
void say_ending(const RunRecord& record, const RunDir& dir, const RunSection& settings) {
  if (record.status == "interrupted")
    tell("interrupted after a whole batch" +
         (std::filesystem::exists(dir.weights("last"))
              ? fmt::format(": the state is in {}", dir.weights("last").string())
              : ""));
  else if (record.status == "diverged")
    console::say(stderr, fmt::format("diverged: {}", record.error));
  show_closing(record, dir, settings);
}

/// A call of `learn train` that writes a run: its folder, and its initial options.
class Run {
 public:
  /// `ranks` are the processes that train together; null: only this one.
  Run(TrainOptions& options,
      const OptionTable& table,
      const std::vector<std::string>& argv,
      Communicator* ranks)
      : options_(options), table_(table), argv_(argv), ranks_(ranks) {}
  ~Run() { log::set_file(""); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] bool resuming() const { return !options_.resume.empty(); }

  /// Returns the exit code. May be called again if memory ran out before an epoch was done.
  int train(Experiment& experiment) {
    const RunSection& settings = options_.experiment.run;
    options_.experiment.know(experiment.data().train);
    const std::string config = write_config(table_, "train");
    check_utf8(experiment.metadata(config));
    join_ranks(experiment, config, ranks_);
    if (!is_first(ranks_)) return train_as_other_rank(experiment, options_, *ranks_);
    experiment.learner().check_batches();
    if (!dir_)
      dir_ = resuming() ? RunDir::open(options_.resume)
                        : RunDir::create(settings.out, settings.name, options_.exist_ok);
    const RunDir& dir = *dir_;
    share_text(dir.path().string(), kRunFolder, ranks_);
    log::set_file((dir.path() / "run.log").string());
    write_file_atomically(dir.path() / "config.toml", config);
    tell(experiment.headline());
    tell(fmt::format("run   {}", dir.path().string()));
    list_skipped(experiment.data().skipped, dir);

    RunRecord record = new_record(experiment, argv_);
    add_reporting(experiment, dir.path(), config);
    experiment.learner().add<callbacks::Interrupt>(caught_signal());
    if (resuming()) go_on(experiment, dir, record, options_.extend > 0, ranks_);
    Learner& learn = experiment.learner();
    warn_if_space_is_short(dir.path(),
                           state_size([&](StateVisitor& visitor) { learn.visit_state(visitor); }));
    catch_signals();
    const int code = run(experiment, dir, record);
    // After an interrupt the user waits for the terminal, so slow steps are skipped.
    const bool interrupted = record.status == "interrupted";
    // The report may take longer than the other ranks wait. Open MPI's mpirun that received SIGTERM
    // ends no connection: it kills the rank that waits for that.
    if (ranks_ != nullptr && !interrupted) part_ranks(experiment);
    if (settings.report && (!interrupted || std::filesystem::exists(dir.weights("last"))))
      write_report(experiment, dir, !interrupted);
    say_ending(record, dir, settings);
    return code;
  }

 private:
  TrainOptions& options_;
  const OptionTable& table_;
  const std::vector<std::string>& argv_;
  Communicator* ranks_;
  std::optional<RunDir> dir_;
};

/// If memory runs out in the first epoch, tries again with a smaller batch.
int train_for_real(TrainOptions& options,
                   ExperimentOptions start,
                   const OptionTable& table,
                   const std::vector<std::string>& argv,
                   Communicator* ranks) {
  constexpr int kHalvings = 3;
  TrainingSection& training = options.experiment.training;
  const bool may_shrink = ranks == nullptr && training.shrink_batch &&
                          options.experiment.run.named("gradient_accumulation") == nullptr;
  Run run(options, table, argv, ranks);
  for (int halvings = 0;; ++halvings) {
    std::unique_ptr<Experiment> experiment;
    try {
      experiment = std::make_unique<Experiment>(start);
      return run.train(*experiment);
    } catch (const OutOfMemoryError& e) {
      const bool nothing_done =
          experiment == nullptr || experiment->learner().progress().epoch_clock == 0;
      if (run.resuming() || !nothing_done) throw;
      if (!may_shrink || halvings == kHalvings || !training.halve_batch())
        fail<OutOfMemoryError>(
            "{}; with batches of {} images: try a smaller --batch-size or --model",
            e.what(),
            training.batch_size);
      start.training = training;
      log::warn("[train] {}; starts again with batches of {} images, {} for each update ({} of {})",
                e.what(),
                training.batch_size,
                training.accumulate,
                halvings + 1,
                kHalvings);
    }
  }
}

/// Before data and model are made, which may take long.
void check_can_write(const TrainOptions& options) {
  const RunSection& run = options.experiment.run;
  if (options.resume.empty())
    RunDir::check_can_create(run.out, run.name, options.exist_ok);
  else
    RunDir::check_can_open(options.resume);
}

/// The status of the run to resume, as rank 0 reads it; empty for a new run.
std::string past_status(const TrainOptions& options, Communicator* ranks) {
  if (options.resume.empty()) return {};
  return share_text(
      is_first(ranks) ? read_past(options.resume).status : "", "the status of the run", ranks);
}

/// Throws UsageError unless the run has nothing left to do.
void check_finished(const TrainOptions& options, const std::string& status) {
  if (status != "finished")
    fail<UsageError>("--extend {}: '{}' is not finished ({}): resume it without --extend first",
                     options.extend,
                     options.resume,
                     status);
}

/// A finished run is unchanged, except that the remains of a report are removed if the process was
/// killed while writing it.
int say_finished(const std::string& run) {
  RunDir::tidy(run);
  console::say(
      stdout,
      fmt::format("'{0}' is finished, there is nothing left to do. To train longer:\n  learn "
                  "train --resume {1} --extend EPOCHS",
                  run,
                  shell_word(run)));
  return 0;
}

/// The other processes that a launcher started with this one; or null.
Communicator* open_ranks_of(const TrainOptions& options) {
  Communicator* const ranks = open_ranks(options.experiment.ranks.deadline());
  if (ranks == nullptr) return nullptr;
  for (const auto& [given, name] : {std::pair{options.dry_run, "--dry-run"},
                                    {options.params, "--params"},
                                    {options.fast_dev_run, "--fast-dev-run"},
                                    {options.explain, "--explain"}})
    if (given) fail<UsageError>("{} is for one process: run it without the launcher", name);
  return ranks;
}

/// `learn train` with resolved options; `argv` goes into the record. Returns the exit code: 0, 7 if
/// the loss became infinite or NaN, 128 + n if signal n ended it. If memory runs out in the first
/// epoch, the recorded batch size may be a smaller one: `options` say so then. `table` is that of
/// `options`. Throws Error.
int train(TrainOptions& options, const OptionTable& table, const std::vector<std::string>& argv) {
  if (options.print_config) {
    console::print(write_config(table, "train"));
    return 0;
  }
  Communicator* const ranks = open_ranks_of(options);
  if (options.dry_run) return dry_run(options.experiment);
  if (options.params) return show_params(options.experiment);
  if (options.fast_dev_run) return fast_dev_run(options.experiment);
  const std::string status = past_status(options, ranks);
  if (options.extend > 0)
    check_finished(options, status);
  else if (!options.explain && status == "finished")
    return is_first(ranks) ? say_finished(options.resume) : 0;
  ExperimentOptions start = options.experiment;
  const RunSection& run = options.experiment.run;
  if (!options.resume.empty()) {
    // The checkpoint has what came of them.
    start.model.pretrained.clear();
    start.model.initial_values = nn::InitialValues::none;
    if (is_first(ranks)) start.data = saved_data(start.data, options.resume);
    start.data.found_at = share_text(start.data.found_at.string(), "the place of the data", ranks);
  }
  if (!options.explain) {
    if (is_first(ranks)) check_can_write(options);
    share_processors(start.device, ranks);
    return train_for_real(options, std::move(start), table, argv, ranks);
  }
  Experiment experiment(std::move(start));
  add_reporting(experiment, std::filesystem::path(run.out) / run.name, "");
  console::print(experiment.learner().explain());
  return 0;
}

}  // namespace

void register_train(Commands& commands) {
  commands.add<TrainOptions>(
      {.name = "train",
       .group = Group::train,
       .place = 0,
       .help = "train a model on images",
       .examples = {{"A folder of images with one subfolder per class",
                     "learn train --data ~/photos --val-split 0.2 --image-size 64"},
                    {"A larger model in half precision",
                     "learn train --data ~/photos --model resnet18 --epochs 20 --precision fp16"},
                    {"Resume the latest run, which was stopped", "learn train --resume last"},
                    {"The command of a job that may be stopped and started again",
                     "learn train --data ~/photos --name photos --resume auto"},
                    {"Repeat an earlier run with one option changed",
                     "learn train --config runs/train/config.toml --seed 7"}},
       .in_ranks = true},
      [](TrainOptions& o, const Parsed& parsed) {
        return train(o, parsed.command->options, parsed.words);
      });
}

}  // namespace learn::cli
