#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace learn {

/// The content of the bar at one moment.
struct BarState {
  std::int64_t epoch = 1;  ///< from 1
  std::int64_t epochs = 1;
  std::int64_t batch = 0;  ///< batches of the pass that are done
  std::int64_t batches = 1;
  bool training = true;
  double loss = 0;  ///< smoothed; only while training
  double samples_per_second = 0;
  double eta_seconds = -1;  ///< of the whole training; negative: unknown
};

/// Returns one line of at most `width` columns: "epoch 3/10 61% ━━━━━━──── 60/98 loss 0.5921 41 902
/// samples/s eta 1:14". In a narrow terminal the bar shrinks, and then parts are dropped, the least
/// important first: the count of batches, the bar, the speed, the time left, the loss, the epoch.
/// `unicode`: the terminal shows more than ASCII.
[[nodiscard]] std::string render_bar(const BarState& state, std::size_t width, bool unicode);

/// Returns the number of columns of a file descriptor's terminal, 80 if unknown.
[[nodiscard]] std::size_t terminal_width(int fd);
/// Returns whether the environment's locale is a UTF-8 locale.
[[nodiscard]] bool locale_is_utf8();

}  // namespace learn
