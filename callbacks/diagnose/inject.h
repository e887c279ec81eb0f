#pragma once
#include "callbacks/diagnose/fault.h"
#include "framework/autograd/tape.h"
#include "framework/learner/callback.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace learn::callbacks {

class FaultPlanter;

/// Injects faults into chosen training batches, to rehearse how a training handles them. It runs
/// before all other callbacks, so that they see a fault like a real one:
///
///   batch_begin     slow: the host sleeps, as for a slow source
///   forward pass    overflow_act, nan_act: a value of a module's output, when it is complete
///   backward_begin  inf_loss: the loss times infinity, before any other callback reads it
///   backward pass   overflow, nan of a module: a value of its output's gradient, when that is
///                   complete, so that it spreads to all that is computed from it
///   backward_end    overflow, nan of a parameter: a value of its gradient, and spike: all
///                   gradients; as the backward pass left them: half, and times the loss scale,
///                   where the model is half
///   each of these   throw: an Error; kill: SIGKILL to this process
///
/// On a device the faults of the passes and of gradients are enqueued; no batch waits for the host.
/// A step with this callback is not captured in a graph, because only the host counts the batches.
class FaultInjection final : public Callback {
 public:
  explicit FaultInjection(std::vector<Fault> faults);
  ~FaultInjection() override;
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;

  [[nodiscard]] std::string_view name() const override { return "inject"; }
  [[nodiscard]] int order() const override { return order::kFaultInjection; }
  /// Throws UsageError for a place that the model does not have.
  void attached(Learner& learn) override;
  /// `backward_end` throws UsageError if this batch has no such gradient because the parameter is
  /// frozen.
#define LEARN_HANDLER(name, role, scope) \
  void name(Learner& learn) override { heard(learn, Event::name); }
  LEARN_BATCH_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
  /// Warns of faults that were never injected.
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  /// Injects this batch's faults into the passes of another tape too, on which the batch runs
  /// again. Returns null if the batch has no faults. The tape's observers see the injected values.
  [[nodiscard]] std::unique_ptr<FaultPlanter> plant_again(Learner& learn,
                                                          Tape& tape,
                                                          ForwardObserver* forward,
                                                          BackwardObserver* backward) const;

 private:
  [[nodiscard]] std::vector<Fault> inside_passes(const Learner& learn) const;
  void heard(Learner& learn, Event event);
  void begin_batch(Learner& learn);
  void strike(Event event);
  void plant_gradients(Learner& learn);
  void tell(const Fault& fault);

  std::vector<Fault> faults_;
  std::vector<bool> struck_;  // whether each was ever injected
  std::int64_t batch_ = 0;    // the running or the last batch
  std::unique_ptr<FaultPlanter> planter_;
};

}  // namespace learn::callbacks
