#include "apps/learn/training/auto_resume.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/saved_run.h"
#include "apps/learn/common/ranks.h"
#include "apps/learn/training/joint_run.h"
#include "framework/core/log.h"
#include "framework/runs/run_dir.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// Whether the folder may be one that `learn train` made, at any moment of a run.
bool may_be_run(const fs::path& folder) {
  constexpr std::array kParts{"run.json", "weights", "former-1"};
  std::error_code ignored;
  return fs::is_directory(folder, ignored) &&
         (fs::is_empty(folder, ignored) || std::ranges::any_of(kParts, [&](const char* part) {
            return fs::exists(folder / part, ignored);
          }));
}

AutoRun look(const RunSection& run) {
  RunDir::check_can_create(run.out, run.name, true);
  const fs::path folder = fs::path(run.out) / run.name;
  if (has_state(folder)) {
    warn_of_edited_config(folder);
    ExperimentOptions saved;
    const OptionTable table = saved.table();
    set_saved_options(table, folder);
    return {.folder = folder.string(), .config = write_config(table, "train")};
  }
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return {};
  if (!may_be_run(folder))
    fail<UsageError>(
        "--resume auto: '{}' exists and is not the folder of a run: choose another --name or --out",
        folder.string());
  log::info("[resume] '{}' has no state yet: the run starts again", folder.string());
  return {};
}

}  // namespace

AutoRun find_auto_run(const TrainOptions& asked) {
  if (asked.extend > 0)
    fail<UsageError>(
        "--extend {} cannot go with --resume auto, because the command of a job that starts again "
        "would extend the run each time: name the run, --resume RUN",
        asked.extend);
  if (asked.experiment.model.pretrained == "last")
    fail<UsageError>(
        "--pretrained last cannot go with --resume auto: when the job starts again, the latest run "
        "is this one. Name the run");
  const bool only_prints = asked.print_config || asked.explain;
  Communicator* const ranks = only_prints ? nullptr : open_ranks(asked.experiment.ranks.deadline());
  AutoRun found;
  if (is_first(ranks)) found = look(asked.experiment.run);
  found.folder = share_text(found.folder, "the run to resume", ranks);
  found.config = share_text(found.config, "the options of the run to resume", ranks);
  return found;
}

void keep_halved_batch(TrainingSection& training,
                       const TrainingSection& saved,
                       const TrainingSection& asked) {
  TrainingSection halved = asked;
  while (halved.batch_size > saved.batch_size) (void)halved.halve_batch();
  if (!saved.shrink_batch || halved.batch_size != saved.batch_size ||
      halved.accumulate != saved.accumulate)
    return;
  training.batch_size = saved.batch_size;
  training.accumulate = saved.accumulate;
}

}  // namespace learn::cli
