#pragma once
#include "callbacks/diagnose/fault.h"
#include "framework/autograd/tape.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace learn::callbacks {

/// Injects faults of modules into the passes of a tape while it is alive. It takes the place of the
/// tape's observers in both passes and forwards to them, so they see the injected values. Only
/// enqueues.
class FaultPlanter final : public ForwardObserver, public BackwardObserver {
 public:
  FaultPlanter(Tape& tape,
               std::vector<Fault> faults,
               ForwardObserver* forward = nullptr,
               BackwardObserver* backward = nullptr);
  ~FaultPlanter() override;
  FaultPlanter(const FaultPlanter&) = delete;
  FaultPlanter& operator=(const FaultPlanter&) = delete;

  void forwarded(const nn::Module& module, const Var& in, const Var& out) override;
  void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) override;
  /// Returns the faults that were not injected because no pass has reached their place yet.
  [[nodiscard]] const std::vector<Fault>& missed() const noexcept { return faults_; }

 private:
  Tape& tape_;
  std::vector<Fault> faults_;
  std::vector<std::pair<std::uint32_t, Fault>> outputs_;  // whose gradients are still to come
  ForwardObserver* forward_;
  BackwardObserver* backward_;
};

/// Overwrites the first element with the value of that kind of fault.
void plant(Context& ctx, FaultKind kind, const Tensor& where);

}  // namespace learn::callbacks
