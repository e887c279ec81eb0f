#pragma once
#include "framework/learner/find/memory_state.h"
#include "framework/learner/host_staging_visitor.h"

namespace learn::test {

using learn::MemoryLoader;
using learn::MemorySaver;
using learn::MemoryState;

/// The state of some things on a context's device, one after the other.
template <class... Things>
[[nodiscard]] MemoryState save(Context& ctx, Things&... things) {
  MemoryState state;
  MemorySaver saver(state);
  HostStagingVisitor visitor(ctx, saver);
  (things.visit_state(visitor), ...);
  return state;
}

/// Gives it to them. Throws std::out_of_range for a name that was never saved, CheckpointError for
/// a tensor of another shape or dtype.
template <class... Things>
void load(Context& ctx, const MemoryState& state, Things&... things) {
  MemoryLoader loader(state);
  HostStagingVisitor visitor(ctx, loader);
  (things.visit_state(visitor), ...);
}

}  // namespace learn::test
