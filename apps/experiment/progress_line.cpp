#include "apps/experiment/progress_line.h"

#include "framework/core/console.h"
#include "framework/terminal/progress_bar.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace learn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

}  // namespace

data::DataProgress progress_line(std::string what) {
  if (::isatty(::fileno(stderr)) == 0) return {};
  return [what = std::move(what), next = Clock::now() + milliseconds(1000), drawn = false](
             std::int64_t done, std::int64_t total) mutable {
    if (done == total) {
      if (drawn) console::redraw(stderr, "");
      drawn = false;
    } else if (Clock::now() >= next) {
      const std::string line =
          fmt::format("{}  {} of {} images", what, grouped(done), grouped(total));
      // Leave one column free: a full line would make some terminals scroll.
      console::redraw(stderr, line.substr(0, terminal_width(::fileno(stderr)) - 1));
      drawn = true;
      next = Clock::now() + milliseconds(100);
    }
  };
}

}  // namespace learn
