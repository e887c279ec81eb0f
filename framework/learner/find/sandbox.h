#pragma once
#include "framework/learner/find/memory_state.h"
#include "framework/learner/learner.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// Training during its lifetime leaves no trace: afterwards, even after an exception, the learner
/// has the same bits as before.
///
///   {
///     Sandbox sandbox(learn);
///     learn.fit(3);  // shows and writes nothing
///   }                // never happened
///
/// It restores everything in a checkpoint (weights, running statistics, optimizer, loss scale,
/// counters, which determine all random numbers, position in the data, and the state that callbacks
/// visit in `visit_state`, such as averages and histories), and state that is only in memory:
/// gradients, half copies, results, rates, freezing, the training data. It writes into the same
/// memory, so that tensors held by others and captured steps stay valid. Callbacks that take no
/// part in it (`Callback::runs_in_sandbox`) receive no events.
///
/// Callbacks that were added must be removed again before the end, and layer groups and precision
/// must not change. Keeps a copy of the state on the host; waits for the device.
class Sandbox {
 public:
  /// Throws std::logic_error from a handler.
  explicit Sandbox(Learner& learn);
  /// Calls `restore` unless it was called before; logs an error.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  /// Restores everything, and enables all callbacks again. The second call does nothing. Throws
  /// std::logic_error from a handler, CheckpointError if the learner was changed so that its state
  /// no longer matches.
  void restore();

 private:
  struct Slot {
    bool trainable, has_grad;
  };

  [[nodiscard]] std::vector<Tensor*> arrays() const;
  void restore_store();

  Learner& learn_;
  // The state that a checkpoint contains.
  MemoryState checkpoint_;
  // State that only memory contains: of the store,
  std::vector<Tensor> arrays_;       // on the host; undefined if it did not exist
  std::vector<std::string> states_;  // names
  std::vector<Slot> slots_;
  // the optimizer,
  std::vector<GroupHypers> hypers_;
  StepControl control_;
  LossScaleOptions scaling_;
  // and the learner; nothing once it is restored.
  std::optional<LearnerState> state_;
};

}  // namespace learn
