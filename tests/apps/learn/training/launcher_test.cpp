#include "apps/learn/training/launcher.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

using namespace learn;

namespace {

/// Sets the variables of launchers during its lifetime.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& wanted) {
    for (const char* const name : {"WORLD_SIZE",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "MV2_COMM_WORLD_SIZE",
                                   "PMI_SIZE",
                                   "PMIX_RANK",
                                   "SLURM_NTASKS",
                                   "SLURM_PROCID",
                                   "SLURM_STEP_ID",
                                   "SLURM_STEP_NUM_TASKS"}) {
      const char* const now = std::getenv(name);
      before_[name] = now != nullptr ? std::optional<std::string>(now) : std::nullopt;
      const auto found = wanted.find(name);
      set(name, found != wanted.end() ? std::optional(found->second) : std::nullopt);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      (void)setenv(name.c_str(), value->c_str(), 1);
    else
      (void)unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace

TEST_CASE("one of several processes of a launcher is refused") {
  using Variables = std::map<std::string, std::string>;
  for (const auto& [variables, said] : std::map<Variables, std::string>{
           {{{"WORLD_SIZE", "2"}}, "(WORLD_SIZE=2)"},
           {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}, "(OMPI_COMM_WORLD_SIZE=2)"},
           {{{"MV2_COMM_WORLD_SIZE", "4"}}, "(MV2_COMM_WORLD_SIZE=4)"},
           {{{"PMI_SIZE", "16"}}, "(PMI_SIZE=16)"},
           {{{"PMIX_RANK", "1"}}, "(PMIX_RANK=1)"},
           {{{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}},
            "(SLURM_NTASKS=2)"},
           {{{"SLURM_STEP_NUM_TASKS", "3"},
             {"SLURM_NTASKS", "1"},
             {"SLURM_PROCID", "2"},
             {"SLURM_STEP_ID", "1"}},
            "(SLURM_STEP_NUM_TASKS=3)"}}) {
    const Environment environment(variables);
    CAPTURE(said);
    CHECK_THROWS_WITH_AS(
        cli::refuse_several_processes(),
        doctest::Contains(("a launcher has started several processes " + said).c_str()),
        UsageError);
  }
}

TEST_CASE("one process is fine, and so is the script of a Slurm job") {
  using Variables = std::map<std::string, std::string>;
  for (const Variables& variables :
       {Variables{},
        Variables{{"WORLD_SIZE", "1"}},
        Variables{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}},
        Variables{{"PMIX_RANK", "0"}},
        Variables{{"PMI_SIZE", "1"}},
        Variables{{"WORLD_SIZE", ""}, {"PMI_SIZE", "many"}, {"PMIX_RANK", "2x"}},
        // sbatch without srun
        Variables{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}},
        // the shell of salloc is a step of one task
        Variables{{"SLURM_NTASKS", "8"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_ID", "4294967290"},
                  {"SLURM_STEP_NUM_TASKS", "1"}},
        // mpirun -n 1 on the nodes of a job
        Variables{{"OMPI_COMM_WORLD_SIZE", "1"},
                  {"SLURM_NTASKS", "8"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_ID", "0"}}}) {
    const Environment environment(variables);
    CHECK_NOTHROW(cli::refuse_several_processes());
  }
}
