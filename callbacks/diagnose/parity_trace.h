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

/// A snapshot of a tensor: counts over all of it, and the values of some elements. Two tensors of
/// one size are sampled at the same places, so that they can be compared.
struct TensorTrace {
  DType dtype = DType::f32;
  std::int64_t count = 0;  ///< elements; 0: there was no such tensor
  std::int64_t not_finite = 0;
  double largest = 0;  ///< magnitude of the finite values
  std::vector<float> sample;

  [[nodiscard]] bool defined() const noexcept { return count > 0; }
};

/// Reads a tensor of any floating dtype, and keeps `sample` elements at most; waits for the device.
[[nodiscard]] TensorTrace trace_tensor(Context& ctx, const Tensor& x, std::int64_t sample);

/// A module that made a value in a forward pass, and what reached that value in the backward pass.
struct CallTrace {
  std::string path;
  std::string text;          ///< `Module::describe`
  std::uint32_t input = 0;   ///< `Var::id`
  std::uint32_t output = 0;  ///< the same
  TensorTrace given;         ///< the input, if no call before has made it
  TensorTrace made;          ///< the output
  TensorTrace gradient;      ///< of the output, times the seed; undefined if none reached it
};

/// Values of a training batch.
struct StepTrace {
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< it ended before there was one
  double lr = 0;                                           ///< of the last layer group
  double seed = 1;  ///< seed of the backward pass: the loss scale
  /// No gradients of earlier batches were held, so that those of the parameters are this batch's.
  bool alone = true;
  bool applied = false;          ///< an update was made
  std::vector<CallTrace> calls;  ///< in the order of the forward pass
  /// The gradients of parameters as the backward pass left them, in the dtype of the model and
  /// times the seed; by their place in the store, undefined for what is frozen.
  std::vector<TensorTrace> parameters;
  /// By how much the update has changed parameters, and the optimizer's state after it, by its
  /// name; both by their place in the store, in the dtype they are stored in. Empty if no update
  /// was made.
  std::vector<TensorTrace> updates;
  std::map<std::string, std::vector<TensorTrace>> states;
};

/// Notes what the modules make of the first `steps` training batches of a fit, forward and
/// backward, and ends it then. A module that only hands on what one inside of it has made is not
/// noted. Copies all it looks at to the host, and waits for that.
class ParityTrace final : public Callback, private ForwardObserver, private BackwardObserver {
 public:
  explicit ParityTrace(std::int64_t steps);

  [[nodiscard]] std::string_view name() const override { return "parity_trace"; }
  /// Before gradients are unscaled, and after faults were planted.
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
  std::int64_t steps_before_ = 0;  // updates at the start of the batch
  std::vector<TensorTrace> weights_before_;
  bool watching_ = false;
  Context* ctx_ = nullptr;
  ForwardObserver* forward_ = nullptr;  // of the tape, before this came in their place
  BackwardObserver* backward_ = nullptr;
};

}  // namespace learn::callbacks
