#include "callbacks/report/run_history.h"

#include "framework/core/error.h"
#include "framework/learner/history/recorder.h"
#include "framework/runs/last_state.h"

namespace learn::callbacks {

RunHistory read_run_history(const std::filesystem::path& run) {
  const std::filesystem::path weights = run / "weights";
  if (!std::filesystem::is_directory(weights))
    fail<CheckpointError>("'{}' is not the folder of a run: it has no 'weights'", run.string());
  const LastState state = find_last_state(weights);
  Recorder recorder;
  load_part_of_state(*state.file, [&](StateVisitor& visitor) {
    const StateVisitor::Scope callbacks(visitor, "callbacks");
    const StateVisitor::Scope one(visitor, recorder.name());
    recorder.visit_state(visitor);
  });
  // Gives "runs/ten" for "./runs/ten/", and the folder's own name for ".".
  std::filesystem::path name = run.lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  if (name == "." || name == ".." || name.empty())
    name = std::filesystem::weakly_canonical(run).filename();
  return {name.string(), recorder.batches_read(), recorder.epochs()};
}

}  // namespace learn::callbacks
