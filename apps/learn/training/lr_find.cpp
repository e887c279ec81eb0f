#include "apps/learn/training/lr_find.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/common/ranks.h"
#include "apps/learn/common/signals.h"
#include "apps/learn/training/ending.h"
#include "apps/learn/training/joint_run.h"
#include "callbacks/interrupt.h"
#include "callbacks/report/lr_find_figure.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/nan_sign.h"
#include "framework/io/csv.h"
#include "framework/runs/result_path.h"
#include "framework/terminal/text_table.h"
#include "framework/terminal/word_wrap.h"

#include <cmath>

namespace learn::cli {
namespace {

std::string table_of(const LrFindResult& found) {
  constexpr std::size_t kRows = 12;
  TextTable table({{"update", TextTable::Align::right},
                   {"lr", TextTable::Align::right},
                   {"loss", TextTable::Align::right},
                   {"smoothed", TextTable::Align::right}});
  const std::size_t count = found.lrs.size();
  const std::size_t step = std::max<std::size_t>(1, count / kRows);
  for (std::size_t i = 0; i < count; ++i)
    if (i % step == 0 || i + 1 == count)
      table.row({fmt::format("{}", i + 1),
                 fmt::format("{:.2e}", found.lrs[i]),
                 fmt::format("{:.4f}", without_nan_sign(found.losses[i])),
                 fmt::format("{:.4f}", without_nan_sign(found.smoothed[i]))});
  return table.to_string();
}

std::string suggestions_of(const LrFindResult& found) {
  std::string out;
  for (const auto& [name, lr] : found.suggestions.named())
    out += fmt::format("{:<8} {}\n", name, lr ? fmt::format("{:.3g}", *lr) : "- (too few updates)");
  return out;
}

/// In f32, which fastai's rules compute in, so that they find the same in the file.
void write_csv(const std::string& path, const LrFindResult& found) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < found.lrs.size(); ++i)
    rows.push_back({static_cast<double>(i + 1),
                    static_cast<float>(found.lrs[i]),
                    static_cast<float>(found.losses[i]),
                    static_cast<float>(found.smoothed[i])});
  CsvWriter(path, {"update", "lr", "loss", "smoothed"}).rows(rows);
}

/// Before data and model are made, which may take long.
void check_files(const LrFindCommandOptions& o) {
  if (!o.plot.empty()) plot::check_drawing_path(o.plot);
  for (const std::string& file : {o.plot, o.csv})
    if (!file.empty()) check_result_path(file, o.train.experiment.data.sources());
}

}  // namespace

OptionTable LrFindCommandOptions::table() {
  OptionTable t = steps_of_train(train);
  t.group("This call");
  t.number("start", sweep.start, kPositive, "LR", "learning rate of the first update");
  t.number("end", sweep.end, kPositive, "LR", "learning rate after the last update");
  t.number("iterations",
           sweep.iterations,
           {.low = 6, .high = 100000},
           "N",
           "number of updates, of --accumulate batches each");
  t.flag("stop", sweep.stop, "stop early when the loss explodes");
  t.text("plot", plot, "FILE", "draw the curve, as .png or .svg");
  t.text("csv", csv, "FILE", "write the curve as CSV");
  return t;
}

void LrFindCommandOptions::resolve(const OptionTable& table, const OptionValues& command_line) {
  resolve_some(steps_of_train(train).names(), table, command_line);
}

std::string advice_of(const LrFindResult& found, const std::vector<double>& lr) {
  const std::string doubt = found.doubt();
  if (!doubt.empty()) {
    const char* const remedy =
        found.ended == LrFindEnd::interrupted ? ""
        : found.ended == LrFindEnd::done
            ? "; more --iterations, larger batches or a larger --end may show more"
            : "; a smaller --start or more --iterations may show more";
    return fmt::format("no suggestion: {}{}", doubt, remedy);
  }
  std::vector<std::string> rates;
  for (const double rate : lr)
    rates.push_back(fmt::format("{:.2g}", rate / lr.back() * *found.suggestions.valley));
  if (rates.empty()) rates.push_back(fmt::format("{:.2g}", *found.suggestions.valley));
  return fmt::format("learn train --lr {} with the same options", join(rates, ":"));
}

int lr_find(const LrFindCommandOptions& o, const OptionTable& table) {
  Communicator* const ranks = open_ranks(o.train.experiment.ranks.deadline());
  if (is_first(ranks)) check_files(o);
  ExperimentOptions options = o.train.experiment;
  options.training.ema = 0;  // these two take no part in a step
  options.run.patience = 0;
  options.data.leave_out_validation();
  share_processors(options.device, ranks);
  Experiment experiment(std::move(options));
  join_ranks(experiment, write_config(table, "lr-find"), ranks);
  Learner& learn = experiment.learner();
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  learn.add<callbacks::Interrupt>(caught_signal());
  catch_signals();
  const LrFindResult found = learn.lr_find(o.sweep);
  const bool interrupted = found.ended == LrFindEnd::interrupted;
  const int code = interrupted ? ending_of(learn).exit_code : 0;
  if (!is_first(ranks)) return code;
  console::print(table_of(found));
  console::print(fmt::format("It ended as {}.\n", found.why()));
  console::print(suggestions_of(found));
  console::print(fmt::format("next     {}\n", advice_of(found, o.train.experiment.training.lr)));
  if (!o.csv.empty()) write_csv(o.csv, found);
  if (!o.plot.empty()) plot::save(o.plot, callbacks::lr_find_figure(found));
  return code;
}

void register_lr_find(Commands& commands) {
  commands.add<LrFindCommandOptions>(
      {.name = "lr-find",
       .group = Group::train,
       .place = 1,
       .help = "find a learning rate by a sweep from small to large",
       .examples = {{"A learning rate for a training with the same options",
                     "learn lr-find --data ~/photos --model resnet18 --plot lr.png"}},
       .in_ranks = true},
      [](LrFindCommandOptions& o, const Parsed& parsed) {
        return lr_find(o, parsed.command->options);
      });
}

}  // namespace learn::cli
