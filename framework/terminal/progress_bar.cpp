#include "framework/terminal/progress_bar.h"

#include "framework/core/environment.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace learn {
namespace {

constexpr std::size_t kWidest = 20;    // cells of the bar
constexpr std::size_t kNarrowest = 5;  // a shorter bar shows no more than the percentage
constexpr std::size_t kGap = 2;

std::string bar(double share, std::size_t cells, bool unicode) {
  const auto done = static_cast<std::size_t>(share * static_cast<double>(cells));
  std::string text;
  for (std::size_t i = 0; i < cells; ++i) {
    if (unicode)
      text += i < done ? "\u2501" : "\u2500";  // heavy and light line
    else
      text += i < done ? '#' : '-';
  }
  return text;
}

/// A part of the line, in order; of two parts, the one with the lower rank is kept longer.
struct Part {
  std::string text;
  int rank;
};
constexpr int kPercentRank = 1;

std::size_t width_of(const std::vector<Part>& parts) {
  std::size_t width = 0;
  for (const Part& part : parts) width += display_width(part.text) + (width > 0 ? kGap : 0);
  return width;
}

/// Drops the least important parts until the rest fits.
void leave_out(std::vector<Part>& parts, std::size_t width) {
  while (!parts.empty() && width_of(parts) > width)
    parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
}

}  // namespace

std::string render_bar(const BarState& state, std::size_t width, bool unicode) {
  const double share = std::clamp(static_cast<double>(state.batch) /
                                      static_cast<double>(std::max<std::int64_t>(1, state.batches)),
                                  0.0,
                                  1.0);
  const std::string total = std::to_string(state.batches);
  std::vector<Part> parts{
      {fmt::format("{} {}/{}", state.training ? "epoch" : "valid", state.epoch, state.epochs), 2},
      {fmt::format("{:3.0f}%", 100 * share), kPercentRank}};
  if (state.training) parts.push_back({fmt::format("loss {:.4f}", state.loss), 3});
  if (state.samples_per_second > 0)
    parts.push_back(
        {fmt::format("{} samples/s", grouped(std::llround(state.samples_per_second))), 5});
  if (state.eta_seconds >= 0)
    parts.push_back({fmt::format("eta {}", clock_text(state.eta_seconds)), 4});
  leave_out(parts, width);

  // The bar and the count repeat the percentage, so they get only the remaining room.
  const std::string count =
      padded(std::to_string(state.batch), total.size(), TextTable::Align::right) + "/" + total;
  const std::size_t room = width - width_of(parts);
  const std::size_t with_count = kGap + kNarrowest + kGap + count.size();
  const std::size_t taken = room < with_count ? kGap : with_count - kNarrowest;
  std::string line;
  for (const Part& part : parts) {
    if (!line.empty()) line += std::string(kGap, ' ');
    line += part.text;
    if (part.rank != kPercentRank || room < kGap + kNarrowest) continue;
    line += std::string(kGap, ' ') + bar(share, std::min(kWidest, room - taken), unicode);
    if (taken > kGap) line += std::string(kGap, ' ') + count;
  }
  return line;
}

std::size_t terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = environment(name);
    if (value == nullptr) continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace learn
