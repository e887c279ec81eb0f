#pragma once
#include "framework/autograd/tape.h"
#include "framework/learner/callback.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// The content of a tensor at one moment: counts over all elements, and the values of some. Two
/// tensors of equal size are sampled at the same places, so that they can be compared.
struct TensorTrace {
  DType dtype = DType::f32;
  std::int64_t count = 0;  ///< elements; 0: no such tensor
  std::int64_t not_finite = 0;
  double largest = 0;  ///< magnitude of the finite values
  std::vector<float> sample;

  [[nodiscard]] bool defined() const noexcept { return count > 0; }
};

/// Reads a tensor of any floating dtype and keeps at most `sample` elements. Waits for the device.
[[nodiscard]] TensorTrace trace_tensor(Context& ctx, const Tensor& x, std::int64_t sample);

/// A module's output in a forward pass, and the gradient that reached it in the backward pass.
struct CallTrace {
  std::string path;
  std::string text;          ///< `Module::describe`
  std::uint32_t input = 0;   ///< `Var::id`
  std::uint32_t output = 0;  ///< also a `Var::id`
  TensorTrace given;         ///< the input, unless an earlier call produced it
  TensorTrace made;          ///< the output
  TensorTrace gradient;      ///< of the output, times the seed; undefined if it got none
};

/// Values of one training batch.
struct StepTrace {
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the batch ended before its loss
  double lr = 0;                                           ///< of the last layer group
  double seed = 1;  ///< seed of the backward pass: the loss scale
  /// No gradients of earlier batches were held, so the parameters' gradients are this batch's
  /// alone.
  bool alone = true;
  bool applied = false;          ///< an update was made
  std::vector<CallTrace> calls;  ///< in the order of the forward pass
  /// Gradients of parameters as the backward pass left them, in the dtype of the model and times
  /// the seed; by position in the store, undefined for frozen parameters.
  std::vector<TensorTrace> parameters;
  /// The changes of parameters by the update, and the optimizer's state after it, by name; both by
  /// position in the store, in the stored dtype. Empty if no update was made.
  std::vector<TensorTrace> updates;
  std::map<std::string, std::vector<TensorTrace>> states;
};

/// Records the inputs, outputs and gradients of modules in the first `steps` training batches of a
/// fit, then ends the fit. Does not record a module that only returns the output of an inner
/// module. Copies everything it inspects to the host, and waits for the copies.
class ParityTrace final : public Callback, private ForwardObserver, private BackwardObserver {
 public:
  explicit ParityTrace(std::int64_t steps);

  [[nodiscard]] std::string_view name() const override { return "parity_trace"; }
  /// Runs before gradients are unscaled and after faults were injected.
  [[nodiscard]] int order() const override { return order::kMixedPrecision - 1; }
  void batch_begin(Learner& learn) override;
  void backward_begin(Learner& learn) override;
  void backward_end(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  [[nodiscard]] const std::vector<StepTrace>& steps() const noexcept { return steps_; }

 private:
  void forwarded(const nn::Module& module, const Var& in, const Var& out) override;
  void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) override;
  void stop_watching(Learner& learn);
  [[nodiscard]] std::vector<TensorTrace> trace_trainable(Learner& learn, const Tensor& flat) const;

  std::int64_t wanted_;
  std::int64_t sample_;
  std::vector<StepTrace> steps_;
  std::int64_t steps_before_ = 0;  // updates before the batch
  std::vector<TensorTrace> weights_before_;
  bool watching_ = false;
  Context* ctx_ = nullptr;
  ForwardObserver* forward_ = nullptr;  // the tape's observer before this one
  BackwardObserver* backward_ = nullptr;
};

}  // namespace learn::callbacks
