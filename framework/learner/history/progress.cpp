#include "framework/learner/history/progress.h"

#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/nan_sign.h"
#include "framework/core/seconds_since.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace learn {
namespace {

constexpr double kRedrawSeconds = 0.1;

/// Four decimals distinguish epochs; values that are too small or too large for them have four
/// digits.
std::string figure(double value) {
  const double size = std::abs(value);
  const bool plain = size == 0 || !(size < 1e-3 || size >= 1e5) || std::isnan(value);
  return plain ? fmt::format("{:.4f}", without_nan_sign(value)) : fmt::format("{:.3e}", value);
}

}  // namespace

Progress::Progress(const ProgressOptions& options) : options_(options), unicode_(locale_is_utf8()) {
  if (options_.live == Live::automatic)
    options_.live = ::isatty(::fileno(options_.bar)) != 0 ? Live::bar : Live::lines;
}

std::vector<std::string> Progress::claims() const {
  return {fmt::format("print the table of epochs to file {}", ::fileno(options_.table))};
}

void Progress::train_begin(Learner& learn) {
  (void)recorder_of(learn, name());
  last_batch_ = last_shown_ = Clock::now();
  training_ = validation_ = {};
  metrics_ = learn.metric_names();
  titles_.clear();
}

void Progress::batch_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) return;
  (learn.progress().training ? training_ : validation_)
      .add(seconds_since(last_batch_), learn.batch().samples());
  last_batch_ = Clock::now();
  const double wait = options_.live == Live::bar ? kRedrawSeconds : options_.heartbeat_seconds;
  if (options_.live == Live::off || seconds_since(last_shown_) < wait) return;
  last_shown_ = Clock::now();
  show(learn);
}

void Progress::epoch_end(Learner& learn) {
  const EpochRecord* epoch = recorder_of(learn, name()).finished_epoch();
  if (epoch == nullptr) return;
  std::vector<std::string> metrics;
  for (const auto& [metric, value] : epoch->metrics) metrics.push_back(metric);
  const bool others = learn.valid_source() != nullptr && metrics != metrics_;
  if (others) metrics_ = std::move(metrics);
  // Only now are metrics known that a handler adds without having declared them.
  if (others || titles_.empty()) set_titles();
  std::vector<std::string> cells{
      std::to_string(epoch->epoch), figure(epoch->train_loss), figure(epoch->valid_loss)};
  for (const auto& [metric, value] : epoch->metrics) cells.push_back(figure(value));
  cells.resize(3 + metrics_.size());  // not available without validation
  cells.push_back(fmt::format("{:.2e}", epoch->lr));
  cells.push_back(grouped(static_cast<std::int64_t>(epoch->samples_per_second)));
  cells.push_back(clock_text(epoch->seconds));
  print_row(cells);
}

void Progress::train_end(Learner&) { clear_bar(); }

void Progress::error(Learner&, const std::exception&) { clear_bar(); }

void Progress::set_titles() {
  titles_ = {"epoch", "train_loss", "valid_loss"};
  titles_.insert(titles_.end(), metrics_.begin(), metrics_.end());
  titles_.insert(titles_.end(), {"lr", "samples/s", "time"});
  shown_ = columns_that_fit();
  log::to_file(line_of(titles_, all_columns()));
  print_titles();
}

void Progress::print_titles() {
  clear_bar();
  const std::string line = line_of(titles_, shown_);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < titles_.size(); ++i)
    if (std::ranges::find(shown_, i) == shown_.end()) missing.push_back(titles_[i]);
  if (!missing.empty())
    console::say(options_.table, fmt::format("no room here for {}", join(missing)));
  console::say(options_.table, line);
}

std::vector<std::size_t> Progress::all_columns() const {
  std::vector<std::size_t> columns(titles_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

std::vector<std::size_t> Progress::columns_that_fit() const {
  std::vector<std::size_t> columns = all_columns();
  const int file = ::fileno(options_.table);
  if (::isatty(file) == 0) return columns;
  // Drops the least important first: speed, rate, time, all metrics except one, the training loss.
  const std::size_t count = titles_.size();
  std::vector<std::size_t> dispensable{count - 2, count - 3, count - 1};
  for (std::size_t i = count - 4; i > 3; --i) dispensable.push_back(i);
  dispensable.push_back(1);
  const std::size_t width = terminal_width(file);
  for (const std::size_t column : dispensable)
    if (line_of(titles_, columns).size() > width) std::erase(columns, column);
  return columns;
}

std::string Progress::line_of(const std::vector<std::string>& cells,
                              const std::vector<std::size_t>& columns) const {
  constexpr std::size_t kNarrowest = 9;
  std::string line;
  for (const std::size_t i : columns) {
    const std::size_t width = i == 0 ? titles_[0].size() : std::max(titles_[i].size(), kNarrowest);
    if (i > 0) line += "  ";
    line += padded(cells[i], width, TextTable::Align::right);
  }
  return line;
}

void Progress::print_row(const std::vector<std::string>& cells) {
  // Terminals are made wider and narrower while a training runs.
  if (const std::vector<std::size_t> columns = columns_that_fit(); columns != shown_) {
    shown_ = columns;
    print_titles();
  }
  clear_bar();
  console::say(options_.table, line_of(cells, shown_));
  log::to_file(line_of(cells, all_columns()));
}

BarState Progress::state_of(Learner& learn) const {
  const FitProgress& fit = learn.progress();
  Recorder& recorder = recorder_of(learn, name());
  const std::vector<BatchRecord>& batches = recorder.batches(learn);
  BarState bar{.epoch = fit.epoch + 1,
               .epochs = fit.epochs,
               .batch = fit.batch_in_pass + 1,
               .batches = fit.batches,
               .training = fit.training,
               .loss = batches.empty() ? 0 : without_nan_sign(batches.back().smooth_loss),
               .samples_per_second = (fit.training ? training_ : validation_).samples_per_second()};
  bar.eta_seconds = seconds_left(learn);
  return bar;
}

/// Remaining seconds of the fit; negative while unknown.
double Progress::seconds_left(const Learner& learn) const {
  constexpr double kForwardShare = 1.0 / 3;  // of a batch that is trained, before one is validated
  const FitProgress& fit = learn.progress();
  const std::optional<double> training = training_.per_batch();
  if (!training) return -1;
  const std::int64_t train_left = fit.fit_batches - (fit.batch_clock - fit.fit_first_batch);
  std::int64_t valid_left = 0;
  if (learn.valid_source() != nullptr) {
    const std::int64_t passes = fit.epochs - fit.epoch - (fit.training ? 0 : 1);
    valid_left = passes * learn.valid_source()->batches() +
                 (fit.training ? 0 : fit.batches - fit.batch_in_pass - 1);
  }
  const double validation = validation_.per_batch().value_or(kForwardShare * *training);
  return static_cast<double>(train_left) * *training + static_cast<double>(valid_left) * validation;
}

void Progress::show(Learner& learn) {
  const BarState state = state_of(learn);
  if (options_.live == Live::lines) {
    std::string line = fmt::format("[progress] {} {}/{} batch {}/{}",
                                   state.training ? "epoch" : "validation of epoch",
                                   state.epoch,
                                   state.epochs,
                                   state.batch,
                                   state.batches);
    if (state.training)
      line += fmt::format("  loss {:.4f}  lr {:.2e}",
                          state.loss,
                          learn.optimizer().lr(learn.params().layer_groups() - 1));
    if (state.samples_per_second > 0)
      line += fmt::format("  {:.0f} samples/s", state.samples_per_second);
    if (state.eta_seconds >= 0) line += "  eta " + clock_text(state.eta_seconds);
    log::info("{}", line);
    return;
  }
  // One column stays free: a full line would make some terminals scroll.
  drawn_ = render_bar(state, terminal_width(::fileno(options_.bar)) - 1, unicode_);
  console::redraw(options_.bar, drawn_);
}

void Progress::clear_bar() {
  if (drawn_.empty()) return;
  console::redraw(options_.bar, "");
  drawn_.clear();
}

}  // namespace learn
