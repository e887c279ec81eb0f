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

/// Makes chosen training batches go wrong, to rehearse what a training does then. It runs before
/// all other callbacks, so that they meet a fault as they would meet a real one:
///
///   batch_begin     slow: the host sleeps, as for a source that is late
///   forward pass    overflow_act, nan_act: a value of what a module gave, when it has given it
///   backward_begin  inf_loss: the loss times infinity, before anybody looks at it
///   backward pass   overflow, nan of a module: a value of its output's gradient, when that is
///                   complete, so that it spreads to all that is computed from it
///   backward_end    overflow, nan of a parameter: a value of its gradient, and spike: all
///                   gradients; as the backward pass left them: half, and times the loss scale,
///                   where the model is half
///   each of these   throw: an Error; kill: SIGKILL to the own process
///
/// On a device the faults of the passes and of gradients are enqueued; no batch waits for the host.
/// But the host is needed to know which batch it is: a step with this callback is not captured in
/// a graph.
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
  /// `backward_end` throws UsageError for a gradient that this batch does not have: of what is
  /// frozen.
#define LEARN_HANDLER(name, role, scope) \
  void name(Learner& learn) override { heard(learn, Event::name); }
  LEARN_BATCH_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
  /// Warns of faults that never came.
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  /// Plants what this batch has inside of its passes in those of another tape as well, on which the
  /// batch runs again; null if that is nothing. The observers see what is planted.
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
  std::vector<bool> struck_;  // of each whether it ever came
  std::int64_t batch_ = 0;    // that runs or ran last
  std::unique_ptr<FaultPlanter> planter_;
};

}  // namespace learn::callbacks
