#pragma once
#include "callbacks/diagnose/parity_evidence.h"
#include "framework/core/dtype.h"
#include "framework/learner/callback_list.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// The difference between values of a training in half precision and the same training in fp32.
/// Shares are of the elements that are not zero in fp32.
struct ParityError {
  std::int64_t count = 0;  ///< elements; 0: there was nothing to compare
  /// |half - fp32| / |fp32|, Euclidean norms over the elements that are finite in both; infinite if
  /// all of fp32 is zero and half is not, NaN if none is finite. The loss scale is taken out.
  double error = 0;
  double size = 1;    ///< |half| / |fp32|
  double cosine = 1;  ///< of the angle between both, as vectors; 0 if half alone is zero
  /// Underflow: the share of values that are zero in half and that in fp32, times the loss scale,
  /// are too small to have digits in the half (`nn::smallest_normal`). A zero does not count if it
  /// arose because rounding sent a ReLU or the maximum of a pooling window the other way.
  double zero = 0;
  /// Share of values so small that the half has lost digits of them: stored below
  /// `nn::smallest_normal`, but not zero. Unknown where halves have been widened to f32 (gradients
  /// of parameters under autocast).
  double subnormal = 0;
  double overflow = 0;       ///< share of all elements that are infinite or NaN, and finite in fp32
  bool full_is_bad = false;  ///< infinite or NaN in fp32, too
  double largest = 0;        ///< magnitude, in fp32
  double root_mean = 0;      ///< square root of the mean square, in fp32

  [[nodiscard]] bool compared() const noexcept { return count > 0; }
};

/// A module's call in one step. Modules that only return the output of an inner module are left
/// out.
struct ParityLayer {
  std::string path;          ///< "(model)" for the model itself
  std::string text;          ///< `Module::describe`; empty for parameters without a module
  DType dtype = DType::f32;  ///< dtype of its output in half precision
  ParityError given;         ///< its (first) input
  ParityError activation;    ///< its output
  ParityError gradient;      ///< of the output
  ParityError weights;       ///< gradients of its parameters, all together
  /// Magnitude in fp32, times the loss scale of the other run, of the gradients that are stored as
  /// halves: of the output, and of parameters that do not stay f32.
  double largest_scaled = 0;
  /// For half weights without masters: the change of the weights. Weights that did not change count
  /// as `ParityError::zero`.
  ParityError update;
  /// In that case: the optimizer state with the largest share of elements that are zero in half
  /// alone.
  std::string emptied_state;
  double emptied = 0;
  /// The modules that read its output, and so made its gradient; empty: the loss, or something that
  /// is not a module.
  std::vector<std::string> readers;
};

/// One batch in both precisions.
struct ParityStep {
  double loss_full = 0;
  double loss_half = 0;
  double lr = 0;         ///< of the last layer group, in fp32
  float loss_scale = 1;  ///< in half precision
  bool applied_full = false;
  bool applied_half = false;
  ParityError update;               ///< of all layers
  std::vector<ParityLayer> layers;  ///< in the order of the forward pass
};

/// Kinds of problems.
enum class ParityProblem : std::uint8_t {
  values,             ///< fp32 itself is not finite before anything was learned: data or weights
  rate,               ///< fp32 itself diverges, so no precision helps
  overflow,           ///< activations exceed the largest number of the half
  gradient_overflow,  ///< gradients do, and no loss scale that the training finds is low enough
  underflow,          ///< gradients become zero or lose digits
  update_grows,       ///< weights without masters change by far more than in fp32
  update_lost,        ///< most of each update is rounded away
  rounding,           ///< without either, values differ by more than rounding explains
};

struct ParityFinding {
  ParityProblem problem = ParityProblem::rounding;
  std::int64_t step = 1;  ///< the first that shows the problem
  std::string layer;      ///< the first affected; empty if no layer is to blame
  std::string module;     ///< its `ParityLayer::text`
  parity::Evidence evidence{};
  std::string text;    ///< what was seen
  std::string advice;  ///< what helps
};

struct ParityAudit {
  std::string precision;  ///< the precision compared with fp32, as `--precision` names it
  DType half = DType::f16;
  bool scale_moves = false;  ///< the loss scale is dynamic
  bool scale_found = false;  ///< a dynamic scale was found at which the first step is made
  std::int64_t warm_up = 0;  ///< steps skipped until then
  std::vector<ParityStep> steps;
  /// Rate of the last layer group where the schedule has the factor 1.
  double lr = 0;
  /// Distance between the final weights of both runs, as a share of the distance fp32 has moved
  /// them.
  double departure = 0;
  std::vector<ParityFinding> findings;  ///< most important first

  [[nodiscard]] bool healthy() const noexcept { return findings.empty(); }
  /// Returns a few lines: what is wrong, where, and what helps; or that nothing is wrong.
  [[nodiscard]] std::string verdict() const;
  /// Returns the steps, the layers and the verdict.
  [[nodiscard]] std::string to_string() const;
  /// Writes a row for each layer of each step, with all numbers. Throws IoError.
  void write_csv(const std::filesystem::path& path) const;
};

struct ParityOptions {
  std::int64_t steps = 8;
  /// Length of the training that these steps start, for which schedules are planned.
  std::int64_t epochs = 1;
};

/// Trains the first `options.steps` batches in fp32, goes back, trains the same batches from the
/// same state (weights, optimizer, running statistics, random numbers of dropout) in the precision
/// of `half`, and reports where the two differ and whether such a training can work:
///
///   const auto audit = audit_parity(learn, std::make_shared<MixedPrecision>());
///   puts(audit.to_string().c_str());
///
/// The learner's callbacks take part in both runs, at the rates of its options. Callbacks that
/// report do so twice, so add them later. Validation does not run. A dynamic loss scale first
/// settles on the first batch. Afterwards the learner is restored to the bit. Waits for the device.
///
/// The first step starts from equal state and shows the effect of rounding, layer by layer; later
/// steps show how it grows. A layer is reported, in the order of the pass, if
///   - part of its output overflows, in any step;
///   - its output is off by more than 32 units of rounding u (2^-11 in f16, 2^-8 in bf16), and by
///     more than four times the error of any output before it. A layer rounds each value a few
///     times, and independent rounding errors add up with the square root of their number, so one
///     layer alone adds one or two u to the error of its input. Deep nets amplify that, resnet50 to
///     100 u, but over many layers;
///   - a gradient is off by more than 0.75, where less than two thirds of its direction remain, and
///     either a fifth of it has underflown or it is four times as far off as any gradient before
///     it in the backward pass. Gradients of healthy nets are off by up to 0.2 in f16 and 0.6 in
///     bf16 from end to end, gradients of resnet50 by more, because rounding decides which way a
///     whole gradient takes through ReLUs and pooling windows.
/// If weights, and so the optimizer's state, are halves without masters, updates are checked too.
/// A layer is reported if its update in any step is more than four times as long as in fp32 and a
/// fifth of a state has become zero, because division by a zero variance has no bound. In the step
/// with the highest rate half of the total length must be left.
///
/// fp32 diverges if its loss is not finite, or ends above ten times the first one and above ten, as
/// successful trainings recover from less.
///
/// Throws std::logic_error from a handler. Throws UsageError for no steps or epochs, a source
/// without batches, a learner that already sets a precision (`to_fp32` removes it), a `half` that
/// sets none, or a learner in the middle of an epoch, from a loaded state.
[[nodiscard]] ParityAudit audit_parity(Learner& learn,
                                       const FitCallback& half,
                                       const ParityOptions& options = {});

}  // namespace learn::callbacks
