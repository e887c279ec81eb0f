#pragma once
#include "framework/learner/callback.h"
#include "framework/terminal/progress_bar.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// The display between the rows of the table.
enum class Live : std::uint8_t {
  automatic,  ///< a bar if `bar` is a terminal, otherwise lines
  bar,        ///< one line that is redrawn
  lines,      ///< a line in the log at each heartbeat; no control characters
  off,
};

struct ProgressOptions {
  std::FILE* table = stdout;
  std::FILE* bar = stderr;
  Live live = Live::automatic;
  double heartbeat_seconds = 30;
};

/// Shows the training: a table with a row per epoch (train_loss is the true mean over the epoch),
/// with a new header if the metrics of an epoch change, and a bar with the smoothed loss, samples
/// per second and the time left. A narrow terminal gets the most important columns for its current
/// width and a list of the others; the log file gets all. Without a terminal the output has no
/// control characters: it consists of the rows, and a line in the log from time to time. Needs a
/// Recorder.
class Progress final : public Callback {
 public:
  explicit Progress(const ProgressOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "progress"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void train_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  using Clock = std::chrono::steady_clock;

  void set_titles();
  void print_titles();
  void print_row(const std::vector<std::string>& cells);
  [[nodiscard]] std::vector<std::size_t> all_columns() const;
  [[nodiscard]] std::vector<std::size_t> columns_that_fit() const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells,
                                    const std::vector<std::size_t>& columns) const;
  void show(Learner& learn);
  void clear_bar();
  [[nodiscard]] BarState state_of(Learner& learn) const;

  ProgressOptions options_;
  bool unicode_;
  std::vector<std::string> metrics_;  // that have a column
  std::vector<std::string> titles_;
  std::vector<std::size_t> shown_;  // of the titles, those that have a column now
  /// Time per batch, from recent batches. The first two are excluded: they touch memory for the
  /// first time, choose algorithms, and wait for workers to start.
  class Pace {
   public:
    void add(double seconds, std::int64_t samples) {
      constexpr int kWarmUp = 2;
      constexpr double kMemory = 0.99;  // what one batch more leaves of those before
      if (++seen_ <= kWarmUp) return;
      seconds_ = kMemory * seconds_ + seconds;
      batches_ = kMemory * batches_ + 1;
      samples_ = kMemory * samples_ + static_cast<double>(samples);
    }
    [[nodiscard]] std::optional<double> per_batch() const {
      return batches_ > 0 ? std::optional(seconds_ / batches_) : std::nullopt;
    }
    /// 0 as long as it is unknown.
    [[nodiscard]] double samples_per_second() const {
      return seconds_ > 0 ? samples_ / seconds_ : 0;
    }

   private:
    std::int64_t seen_ = 0;
    double batches_ = 0;
    double seconds_ = 0;
    double samples_ = 0;
  };
  [[nodiscard]] double seconds_left(const Learner& learn) const;

  Pace training_, validation_;  // with what comes before a batch: a checkpoint, a first worker
  Clock::time_point last_batch_, last_shown_;
  std::string drawn_;  // the bar on the screen
};

}  // namespace learn
