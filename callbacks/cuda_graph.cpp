#include "callbacks/cuda_graph.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <memory>
#include <set>

namespace learn::callbacks {
namespace {

/// Returns whether an event is inside a step's body, where a replay does not emit it.
bool in_body(const EventInfo& info) {
  return info.scope == Scope::step ||
         (info.scope == Scope::batch && info.role == EventRole::inside);
}

/// Returns the names of the callbacks that need the host there; empty if none does.
std::string uncapturable_listeners(const Learner& learn) {
  std::string names;
  std::set<const Callback*> seen;
  for (const EventInfo& info : kEventTable) {
    if (!in_body(info)) continue;
    for (const Callback* callback : learn.callbacks().listeners(info.event)) {
      if (callback->capturable() || !seen.insert(callback).second) continue;
      names += fmt::format("{}'{}' at {}", names.empty() ? "" : ", ", callback->name(), info.name);
    }
  }
  return names;
}

}  // namespace

CudaGraph::CudaGraph(std::int64_t warm_up) : warm_up_(warm_up) {
  check<UsageError>(warm_up >= 1, "cuda_graph: warmup must be at least 1 batch, not {}", warm_up);
}

void CudaGraph::train_begin(Learner& learn) {
  counts_ = {};
  if (!learn.context().device().is_cuda()) {
    log::warn("[cuda_graph] the training step is not captured: it runs on {}",
              learn.context().device());
    return;
  }
  const std::string names = uncapturable_listeners(learn);
  if (!names.empty()) {
    log::warn("[cuda_graph] the training step is not captured: these need the host: {}", names);
    return;
  }
  learn.set_step_runner(std::make_unique<GraphStep>(learn.context(), counts_, warm_up_));
}

void CudaGraph::train_end(Learner& learn) {
  learn.set_step_runner(std::make_unique<EagerStep>());
  log::debug("[cuda_graph] {} batches replayed, {} graphs of {} operations, {} batches eager",
             counts_.replayed,
             counts_.captured,
             counts_.operations,
             counts_.eager);
}

void CudaGraph::error(Learner& learn, const std::exception&) {
  learn.set_step_runner(std::make_unique<EagerStep>());
}

void register_cuda_graph(CallbackRegistry& registry) {
  registry.add(
      "cuda_graph",
      "runs the training step as one CUDA graph",
      std::int64_t{GraphStep::kWarmUp},
      [](OptionTable& t, std::int64_t& warm_up) {
        t.number("warm_up", warm_up, kCount, "N", "eager batches of each shape before capture");
      },
      [](std::int64_t warm_up, const RunSettings&) {
        return make_callback<CudaGraph>(Role::trains, warm_up);
      });
}

}  // namespace learn::callbacks
