#include "apps/learn/training/launcher.h"

#include "framework/core/environment.h"
#include "framework/core/error.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace learn::cli {
namespace {

/// The number that a variable holds; nothing if it is not set, or holds no number.
std::optional<std::int64_t> number_in(const char* variable) {
  const char* const text = environment(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const char* variable, std::int64_t value) {
  fail<UsageError>(
      "a launcher has started several processes ({}={}), which would all train the same model: "
      "data parallel training is not supported yet. Run 'learn train' without the launcher, or the "
      "launcher with one process. If you do not use a launcher, unset {}",
      variable,
      value,
      variable);
}

/// Whether the variable's value is one process.
bool is_alone(const char* size) {
  const std::optional<std::int64_t> processes = number_in(size);
  if (processes.value_or(1) > 1) refuse(size, *processes);
  return processes.has_value();
}

}  // namespace

void refuse_several_processes() {
  (void)is_alone("WORLD_SIZE");
  // Within a Slurm job MPI's variables take precedence, because Slurm's describe the whole job.
  for (const char* const size : {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (is_alone(size)) return;
  if (const auto rank = number_in("PMIX_RANK"); rank.value_or(0) > 0) refuse("PMIX_RANK", *rank);
  const bool in_step = number_in("SLURM_STEP_ID") && number_in("SLURM_PROCID");
  if (in_step && !is_alone("SLURM_STEP_NUM_TASKS")) (void)is_alone("SLURM_NTASKS");
}

}  // namespace learn::cli
