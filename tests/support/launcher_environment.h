#pragma once
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace learn::testing {

/// Sets the variables of launchers during its lifetime, and unsets all others.
class LauncherEnvironment {
 public:
  using Values = std::map<std::string, std::string>;

  explicit LauncherEnvironment(const Values& values) {
    for (const char* const name : {"OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "OMPI_MCA_odls_base_sigkill_timeout",
                                   "OMPI_MCA_orte_app_num",
                                   "MV2_COMM_WORLD_RANK",
                                   "MV2_COMM_WORLD_SIZE",
                                   "MV2_COMM_WORLD_LOCAL_RANK",
                                   "PMI_RANK",
                                   "PMI_SIZE",
                                   "MPI_LOCALRANKID",
                                   "PMIX_RANK",
                                   "SLURM_NTASKS",
                                   "SLURM_PROCID",
                                   "SLURM_LOCALID",
                                   "SLURM_STEP_ID",
                                   "SLURM_STEP_NUM_TASKS",
                                   "RANK",
                                   "WORLD_SIZE",
                                   "LOCAL_RANK",
                                   "MASTER_ADDR",
                                   "MASTER_PORT",
                                   "TORCHELASTIC_RUN_ID",
                                   "TORCHELASTIC_USE_AGENT_STORE"}) {
      const char* const now = std::getenv(name);
      before_[name] = now != nullptr ? std::optional<std::string>(now) : std::nullopt;
      const auto found = values.find(name);
      set(name, found != values.end() ? std::optional(found->second) : std::nullopt);
    }
  }
  ~LauncherEnvironment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      (void)setenv(name.c_str(), value->c_str(), 1);
    else
      (void)unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace learn::testing
