#include "apps/learn/runs/run_removal.h"

#include "apps/learn/runs/run_listing.h"
#include "framework/core/console.h"
#include "framework/core/error.h"
#include "framework/io/free_space.h"
#include "framework/runs/remove_run.h"
#include "framework/terminal/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

void check_distinct(const std::vector<fs::path>& runs) {
  std::vector<fs::path> real;
  for (const fs::path& run : runs) real.push_back(fs::canonical(run));
  for (std::size_t i = 0; i < real.size(); ++i)
    for (std::size_t j = 0; j < real.size(); ++j) {
      if (i == j) continue;
      const auto [outer, inner] =
          std::mismatch(real[i].begin(), real[i].end(), real[j].begin(), real[j].end());
      if (outer == real[i].end())
        fail<UsageError>("'{}' is '{}' or is inside it: name only one of them",
                         runs[j].string(),
                         runs[i].string());
    }
}

std::string what_goes(std::size_t count, std::uint64_t bytes) {
  return fmt::format("{} {}, {}", count, count == 1 ? "run" : "runs", bytes_text(bytes));
}

bool confirmed(const std::string& question) {
  console::print(question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

int remove_runs(const std::vector<fs::path>& runs, bool yes) {
  for (const fs::path& run : runs) check_can_remove(run);
  check_distinct(runs);
  if (!yes && ::isatty(STDIN_FILENO) == 0)
    fail<UsageError>(
        "--remove asks for confirmation, but standard input is not a terminal: add --yes");
  std::vector<RunEntry> known;
  std::uint64_t bytes = 0;
  for (const fs::path& run : runs) {
    bytes += disk_usage(run);
    if (is_run(run)) known.push_back(look_at_run(run));
  }
  if (!yes) {
    if (!known.empty()) console::print(runs_table(known, terminal_width(STDOUT_FILENO)) + '\n');
    for (const fs::path& run : runs) console::print(run.string() + '\n');
    if (!confirmed(fmt::format("permanently remove {}? [y/N] ", what_goes(runs.size(), bytes)))) {
      console::print("nothing is removed\n");
      return 0;
    }
  }
  for (const fs::path& run : runs) {
    remove_run(run);
    console::print(fmt::format("removed {}\n", run.string()));
  }
  console::print(fmt::format("{} removed\n", what_goes(runs.size(), bytes)));
  return 0;
}

}  // namespace learn::cli
