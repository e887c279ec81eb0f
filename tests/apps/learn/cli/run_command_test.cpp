#include "apps/learn/cli/run_command.h"

#include "apps/learn/cli/command.h"
#include "apps/learn/common/ranks.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace learn;
using namespace learn::cli;
using learn::testing::LauncherEnvironment;

namespace {

/// The variables of Open MPI.
LauncherEnvironment::Values place(const std::string& rank, const std::string& ranks) {
  return {{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", ranks}};
}

}  // namespace

TEST_CASE("commands that train together or only print run in several processes") {
  const Commands commands;
  std::vector<std::string> names;
  for (const Command& command : commands.all())
    if (command.in_ranks) names.push_back(command.name);
  CHECK(names ==
        std::vector<std::string>{
            "train", "lr-find", "models", "options", "autocast", "doctor", "help", "completion"});
}

TEST_CASE("a command for one process is refused in several of a launcher") {
  const TemporaryFolder folder;
  const std::vector<std::string> write = {
      "data", "make", "synthetic10", folder / "out", "--train-limit", "20", "--valid-limit", "5"};
  const auto written = [&] { return std::filesystem::exists(folder / "out"); };
  {
    const LauncherEnvironment several(place("0", "2"));
    CHECK(run_command(write) == static_cast<int>(ExitCode::usage));
    CHECK_FALSE(written());
    CHECK(run_command({"completion", "bash"}) == 0);
    CHECK(run_command({"data", "--help"}) == 0);
    CHECK_THROWS_WITH_AS(check_one_process("learn data"),
                         "learn data is for one process: run it without the launcher",
                         UsageError);
  }
  const LauncherEnvironment one(place("0", "1"));
  CHECK(run_command(write) == 0);
  CHECK(written());
}
