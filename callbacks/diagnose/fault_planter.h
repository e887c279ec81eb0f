#pragma once
#include "callbacks/diagnose/fault.h"
#include "framework/autograd/tape.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace learn::callbacks {

/// Injects faults of modules into the passes of a tape during its lifetime, as the tape's observer
/// of both passes. The previous observers see the injected values. Enqueues only.
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
  /// Faults that were not injected, because no pass has reached their place.
  [[nodiscard]] const std::vector<Fault>& missed() const noexcept { return faults_; }

 private:
  Tape& tape_;
  std::vector<Fault> faults_;
  std::vector<std::pair<std::uint32_t, Fault>> outputs_;  // whose gradients are to come
  ForwardObserver* forward_;
  BackwardObserver* backward_;
};

/// Writes what a fault of that kind puts there over the first element.
void plant(Context& ctx, FaultKind kind, const Tensor& where);

}  // namespace learn::callbacks
