#include "framework/report/progress_bar.h"

#include "framework/report/text_table.h"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace learn {
namespace {

constexpr std::size_t kBarWidth = 20;

std::string bar(double share, bool unicode) {
  const auto done = static_cast<std::size_t>(share * kBarWidth);
  std::string text;
  for (std::size_t i = 0; i < kBarWidth; ++i) {
    if (unicode)
      text += i < done ? "\u2501" : "\u2500";  // heavy and light line
    else
      text += i < done ? '#' : '-';
  }
  return text;
}

}  // namespace

std::string render_bar(const BarState& state, std::size_t width, bool unicode) {
  const double share = std::clamp(static_cast<double>(state.batch) /
                                      static_cast<double>(std::max<std::int64_t>(1, state.batches)),
                                  0.0,
                                  1.0);
  std::vector<std::string> parts{
      fmt::format("{} {}/{}", state.training ? "epoch" : "valid", state.epoch, state.epochs),
      fmt::format("{:3.0f}%", 100 * share),
      bar(share, unicode),
      fmt::format("{}/{}", state.batch, state.batches)};
  if (state.training) parts.push_back(fmt::format("loss {:.4f}", state.loss));
  if (state.samples_per_second > 0)
    parts.push_back(
        fmt::format("{} samples/s", grouped(static_cast<std::int64_t>(state.samples_per_second))));
  if (state.eta_seconds >= 0) parts.push_back(fmt::format("eta {}", clock_text(state.eta_seconds)));

  std::string line;
  std::size_t used = 0;
  for (const std::string& part : parts) {
    const std::size_t needed = display_width(part) + (line.empty() ? 0 : 2);
    if (used + needed > width) break;
    if (!line.empty()) line += "  ";
    line += part;
    used += needed;
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
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace learn
