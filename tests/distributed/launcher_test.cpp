#include "framework/distributed/launcher.h"

#include "framework/core/error.h"
#include "tests/support/launcher_environment.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace learn;

namespace {

using testing::LauncherEnvironment;
using Values = LauncherEnvironment::Values;

/// Returns the launcher, its numbers and its variable as one text.
std::string found_in(const Values& values) {
  const LauncherEnvironment environment(values);
  const std::optional<Launcher> found = find_launcher();
  if (!found) return "none";
  const std::string local = found->local_rank ? std::to_string(*found->local_rank) : "?";
  return found->text() + ", local " + local + ", " + found->variable +
         (found->several() ? ", several" : ", alone");
}

Values slurm_step(const std::string& rank, const std::string& tasks) {
  return {{"SLURM_STEP_ID", "0"},
          {"SLURM_NTASKS", "8"},
          {"SLURM_STEP_NUM_TASKS", tasks},
          {"SLURM_PROCID", rank},
          {"SLURM_LOCALID", tasks == "1" ? "0" : "1"}};
}

Values with(Values values, const Values& more) {
  for (const auto& [name, value] : more) values[name] = value;
  return values;
}

}  // namespace

TEST_CASE("every launcher is found with rank, ranks and local rank") {
  CHECK(found_in({{"OMPI_COMM_WORLD_RANK", "3"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"PMIX_RANK", "3"}}) ==
        "Open MPI as rank 3 of 4, local 1, OMPI_COMM_WORLD_SIZE=4, several");
  CHECK(found_in({{"MV2_COMM_WORLD_RANK", "1"},
                  {"MV2_COMM_WORLD_SIZE", "2"},
                  {"MV2_COMM_WORLD_LOCAL_RANK", "0"}}) ==
        "MVAPICH as rank 1 of 2, local 0, MV2_COMM_WORLD_SIZE=2, several");
  CHECK(found_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "16"}, {"MPI_LOCALRANKID", "2"}}) ==
        "MPICH as rank 0 of 16, local 2, PMI_SIZE=16, several");
  CHECK(found_in(slurm_step("2", "3")) ==
        "Slurm as rank 2 of 3, local 1, SLURM_STEP_NUM_TASKS=3, several");
  CHECK(found_in({{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}}) ==
        "Slurm as rank 0 of 2, local ?, SLURM_NTASKS=2, several");
  CHECK(found_in({{"PMIX_RANK", "1"}}) == "PMIx as rank 1, local ?, PMIX_RANK=1, several");
  CHECK(found_in({{"PMIX_RANK", "0"}}) == "PMIx as rank 0, local ?, PMIX_RANK=0, alone");
  CHECK(found_in(with(slurm_step("0", "3"), {{"PMIX_RANK", "0"}})) ==
        "PMIx as rank 0 of 3, local 1, SLURM_STEP_NUM_TASKS=3, several");
  CHECK(found_in(with(slurm_step("1", "3"), {{"PMIX_RANK", "5"}})) ==
        "PMIx as rank 5, local ?, PMIX_RANK=5, several");
}

TEST_CASE("one process of a launcher is alone, and the script of a Slurm job has no launcher") {
  const std::string one = "Open MPI as rank 0 of 1, local ?, OMPI_COMM_WORLD_SIZE=1, alone";
  CHECK(found_in({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}) == one);
  CHECK(found_in({{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}) == one);
  // mpirun -n 1 on the nodes of a job, or in a step of it
  CHECK(found_in(with(slurm_step("0", "4"), {{"OMPI_COMM_WORLD_SIZE", "1"}})) == one);
  for (const Values& values :
       {Values{},
        Values{{"WORLD_SIZE", "1"}},
        Values{{"WORLD_SIZE", ""}, {"PMI_SIZE", "many"}, {"PMIX_RANK", "2x"}},
        Values{{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "99999999999"}, {"SLURM_NTASKS", "2"}},
        // sbatch without srun
        Values{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}},
        slurm_step("0", "1")})
    CHECK(found_in(values) == "none");
  // The shell of salloc is a step of one task.
  CHECK(found_in({{"SLURM_NTASKS", "8"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_ID", "2147483000"},
                  {"SLURM_STEP_NUM_TASKS", "1"}}) == "none");
}

TEST_CASE("torchrun is found unless another launcher started the processes") {
  const Values torchrun{{"RANK", "1"},
                        {"WORLD_SIZE", "3"},
                        {"LOCAL_RANK", "0"},
                        {"MASTER_ADDR", "nodea"},
                        {"MASTER_PORT", "29500"}};
  const std::string expected = "torchrun as rank 1 of 3, local 0, WORLD_SIZE=3, several";
  for (const Values& values : {torchrun,
                               with(torchrun, {{"PMIX_RANK", "0"}}),
                               // torchrun on each node of a job
                               with(slurm_step("0", "2"), torchrun),
                               with(slurm_step("0", "1"), torchrun),
                               with(slurm_step("2", "3"), torchrun)})
    CHECK(found_in(values) == expected);
  CHECK(found_in(with(torchrun, {{"LOCAL_RANK", ""}})) ==
        "torchrun as rank 1 of 3, local ?, WORLD_SIZE=3, several");
  CHECK(found_in(with(torchrun, {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}}))
            .substr(0, 23) == "Open MPI as rank 1 of 2");
  CHECK(found_in(with(torchrun, {{"PMIX_RANK", "1"}})).substr(0, 14) == "PMIx as rank 1");
  CHECK(found_in(with(slurm_step("1", "3"), torchrun)).substr(0, 5) == "Slurm");
  CHECK(found_in(with(slurm_step("2", "3"), {{"WORLD_SIZE", "3"}})).substr(0, 5) == "Slurm");
}

TEST_CASE("processes of an agent of torchrun are its ranks whatever started the agent") {
  const Values agent{{"RANK", "1"},
                     {"WORLD_SIZE", "2"},
                     {"LOCAL_RANK", "0"},
                     {"MASTER_ADDR", "nodea"},
                     {"MASTER_PORT", "29500"},
                     {"TORCHELASTIC_RUN_ID", "job7"}};
  for (const Values& values :
       {with(slurm_step("1", "2"), agent),
        with(with(slurm_step("1", "2"), {{"PMIX_RANK", "1"}}), agent),
        with(agent, {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}})})
    CHECK(found_in(values) == "torchrun as rank 1 of 2, local 0, WORLD_SIZE=2, several");
  CHECK(found_in(with(slurm_step("1", "2"), with(agent, {{"WORLD_SIZE", "1"}, {"RANK", "0"}})))
            .substr(0, 5) == "Slurm");
}

TEST_CASE("the ranks of torchrun connect next to the port of its agent") {
  Values values{{"RANK", "0"},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", "nodea"},
                {"MASTER_PORT", "29500"},
                {"TORCHELASTIC_RUN_ID", "job7"}};
  const auto meeting = [&](const Values& more) {
    const LauncherEnvironment environment(with(values, more));
    const Meeting found = find_launcher().value().meeting.value();
    return found.host + ":" + std::to_string(found.port) + " " + found.job;
  };
  CHECK(meeting({}) == "nodea:29500 job7");
  CHECK(meeting({{"TORCHELASTIC_RUN_ID", ""}}) == "nodea:29500 ");
  CHECK(meeting({{"TORCHELASTIC_USE_AGENT_STORE", "False"}}) == "nodea:29500 job7");
  CHECK(meeting({{"TORCHELASTIC_USE_AGENT_STORE", "True"}}) == "nodea:29501 job7");
  CHECK(meeting({{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MASTER_PORT", "65535"}}) ==
        "nodea:65534 job7");
}

TEST_CASE("By default Open MPI 4 kills processes two seconds after SIGTERM") {
  const Values version_5{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  const Values open_mpi = with(version_5, {{"OMPI_MCA_orte_app_num", "0"}});
  const auto seconds = [](const Values& values) {
    const LauncherEnvironment environment(values);
    const std::optional<Launcher> found = find_launcher();
    return found && found->grace ? found->grace->seconds : -1;
  };
  CHECK(seconds(open_mpi) == 2);
  CHECK(seconds(with(open_mpi, {{"OMPI_MCA_odls_base_sigkill_timeout", "30"}})) == 30);
  CHECK(seconds(version_5) == -1);
  CHECK(seconds({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}) == -1);
}

TEST_CASE("variables that contradict each other are refused") {
  for (const auto& contradiction : std::vector<std::pair<Values, std::string>>{
           {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "2"}},
            "OMPI_COMM_WORLD_RANK=2 contradicts OMPI_COMM_WORLD_SIZE=2"},
           {{{"PMI_SIZE", "2"}, {"PMI_RANK", "-1"}}, "PMI_RANK=-1 contradicts PMI_SIZE=2"},
           {{{"PMI_SIZE", "0"}, {"PMI_RANK", "0"}}, "PMI_RANK=0 contradicts PMI_SIZE=0"},
           {{{"MV2_COMM_WORLD_SIZE", "2"},
             {"MV2_COMM_WORLD_RANK", "1"},
             {"MV2_COMM_WORLD_LOCAL_RANK", "7"}},
            "MV2_COMM_WORLD_LOCAL_RANK=7 contradicts MV2_COMM_WORLD_SIZE=2"},
           {slurm_step("3", "3"), "SLURM_PROCID=3 contradicts SLURM_STEP_NUM_TASKS=3"},
           {{{"PMI_SIZE", "2"}}, "PMI_SIZE is 2, but PMI_RANK is not set"},
           {{{"PMIX_RANK", "-2"}}, "PMIX_RANK=-2: a rank is at least 0"},
           {{{"WORLD_SIZE", "3"}}, "WORLD_SIZE is 3, but RANK is not set"},
           {{{"WORLD_SIZE", "3"}, {"RANK", "3"}}, "RANK=3 contradicts WORLD_SIZE=3"},
           {{{"WORLD_SIZE", "3"}, {"RANK", "0"}, {"LOCAL_RANK", "3"}},
            "LOCAL_RANK=3 contradicts WORLD_SIZE=3"},
           {{{"WORLD_SIZE", "3"}, {"RANK", "0"}, {"MASTER_PORT", "29500"}},
            "WORLD_SIZE=3, but MASTER_ADDR is not set"},
           {{{"WORLD_SIZE", "3"}, {"RANK", "0"}, {"MASTER_ADDR", "nodea"}},
            "WORLD_SIZE=3, but MASTER_PORT is not a port, 1 to 65535"},
           {{{"WORLD_SIZE", "3"},
             {"RANK", "0"},
             {"MASTER_ADDR", "nodea"},
             {"MASTER_PORT", "65536"}},
            "WORLD_SIZE=3, but MASTER_PORT is not a port, 1 to 65535"}}) {
    CAPTURE(contradiction.second);
    CHECK_THROWS_WITH_AS((void)found_in(contradiction.first),
                         doctest::Contains(contradiction.second.c_str()),
                         UsageError);
  }
}
