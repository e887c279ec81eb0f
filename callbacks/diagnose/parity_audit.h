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

/// How values of a training in half precision differ from those of the same training in fp32.
/// Shares are of the elements that are not zero in fp32.
struct ParityError {
  std::int64_t count = 0;  ///< elements; 0: there was nothing to compare
  /// |half - fp32| / |fp32|, Euclidean norms over the elements that are finite in both; infinite if
  /// all of fp32 is zero and half is not, NaN if none is finite. The loss scale is taken out.
  double error = 0;
  double size = 1;    ///< |half| / |fp32|
  double cosine = 1;  ///< of the angle between both, as vectors; 0 if half alone is zero
  /// Underflow: zero in half, and so small in fp32, times the loss scale, that the half has no
  /// digits for it (`nn::smallest_normal`). A zero because rounding changed the side of a ReLU or
  /// the maximum of a pooling window does not count.
  double zero = 0;
  /// So small that the half has lost digits of it: stored below `nn::smallest_normal`, not zero.
  /// Where halves have been widened to f32 (parameters' gradients under autocast) it is not known.
  double subnormal = 0;
  double overflow = 0;       ///< share of all elements that are infinite or NaN, and finite in fp32
  bool full_is_bad = false;  ///< infinite or NaN in fp32, too
  double largest = 0;        ///< magnitude, in fp32
  double root_mean = 0;      ///< square root of the mean square, in fp32

  [[nodiscard]] bool compared() const noexcept { return count > 0; }
};

/// A module's call in one step. Modules that only hand on what one inside of them has made are left
/// out.
struct ParityLayer {
  std::string path;          ///< "(model)" of the model itself
  std::string text;          ///< `Module::describe`; empty for parameters of no such module
  DType dtype = DType::f32;  ///< of its output in half precision
  ParityError given;         ///< its (first) input
  ParityError activation;    ///< its output
  ParityError gradient;      ///< of the output
  ParityError weights;       ///< gradients of its parameters, all together
  /// Magnitude in fp32 of the gradients that halves hold, times the loss scale, in the other run:
  /// of the output, and of parameters that do not stay f32.
  double largest_scaled = 0;
  /// Where weights are halves without masters: by how much they were changed. All that stays as it
  /// was counts as `ParityError::zero`.
  ParityError update;
  /// The optimizer's state with the largest share of elements that are zero in half alone, there.
  std::string emptied_state;
  double emptied = 0;
  /// The modules that use its output and so compute its gradient; empty: the loss, or code outside
  /// of modules.
  std::vector<std::string> readers;
};

/// A batch in both precisions.
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
  rate,               ///< fp32 itself diverges: no precision helps
  overflow,           ///< activations are beyond the largest number of the half
  gradient_overflow,  ///< gradients are, and no loss scale that the training finds is low enough
  underflow,          ///< gradients become zero or lose their digits
  update_grows,       ///< weights without masters are changed by far more than in fp32
  update_lost,        ///< most of what changes them is rounded away
  rounding,           ///< without either, values differ by more than rounding explains
};

struct ParityFinding {
  ParityProblem problem = ParityProblem::rounding;
  std::int64_t step = 1;  ///< the first that shows it
  std::string layer;      ///< the first layer that differs; empty if no layer is the cause
  std::string module;     ///< `ParityLayer::text` of it
  parity::Evidence evidence{};
  std::string text;    ///< what was seen
  std::string advice;  ///< what helps
};

struct ParityAudit {
  std::string precision;  ///< that was compared with fp32, as `--precision` has it
  DType half = DType::f16;
  bool scale_moves = false;  ///< the loss scale is a dynamic one
  bool scale_found = false;  ///< and there is one at which the first step is made
  std::int64_t warm_up = 0;  ///< steps that were skipped until then
  std::vector<ParityStep> steps;
  /// The rate of the last layer group where the schedule is at factor 1.
  double lr = 0;
  /// How far the weights are apart at the end, as a share of how far fp32 has moved them.
  double departure = 0;
  std::vector<ParityFinding> findings;  ///< what counts most first

  [[nodiscard]] bool healthy() const noexcept { return findings.empty(); }
  /// A few lines: what is wrong, where, and what helps; or that nothing is.
  [[nodiscard]] std::string verdict() const;
  /// Steps, layers and the verdict.
  [[nodiscard]] std::string to_string() const;
  /// A row for each layer of each step, with all numbers. Throws IoError.
  void write_csv(const std::filesystem::path& path) const;
};

struct ParityOptions {
  std::int64_t steps = 8;
  /// The whole training, whose first steps these are; schedules use it.
  std::int64_t epochs = 1;
};

/// Trains the first `options.steps` batches of a training in fp32, goes back, trains the same
/// batches from the same state (weights, optimizer, running statistics, random numbers of dropout)
/// in the precision of `half`, and says where they depart and whether such a training can work:
///
///   const auto audit = audit_parity(learn, std::make_shared<MixedPrecision>());
///   puts(audit.to_string().c_str());
///
/// The learner's callbacks take part in both, at the rates of its options. Those that report do so
/// twice: add them later. There is no validation. A loss scale that moves is first let find its
/// place on the first batch. Then the learner is what it was before, to the bit. Waits for the
/// device.
///
/// The first step, from equal state, shows what rounding does, layer by layer; later ones show what
/// becomes of it. A layer departs, in the order of the pass, if
///   - part of its output overflows, in any step;
///   - its output is off by more than 32 units of rounding u (2^-11 in f16, 2^-8 in bf16), and by
///     more than four times what any before it is. A layer rounds each value a few times, and
///     errors of independent roundings add up like their root, so that one layer alone adds one or
///     two u to the error of its input. Deep nets amplify that, resnet50 to 100 u, but over many
///     layers;
///   - a gradient is off by more than 0.75, where less than two thirds of its direction are left,
///     and a fifth of it has underflown, or it is four times as far off as any before it in the
///     backward pass. Gradients of healthy nets are off by up to 0.2 in f16 and 0.6 in bf16 from
///     end to end, those of resnet50 more: rounding decides for ReLUs and windows of pooling which
///     way all of a gradient goes.
/// Where weights, and so the optimizer's state, are halves without masters, updates are looked at,
/// too: in any step a layer's may be four times as long as in fp32 if a fifth of a state has become
/// zero, as what is divided by a variance of zero has no bound; and in the step with the highest
/// rate half of the length of all must be left.
///
/// fp32 diverges if its loss is not finite, or ends above ten times the first one and above ten:
/// trainings that work recover from less.
///
/// Throws std::logic_error from a handler; UsageError for no steps or epochs, a source without
/// batches, a learner that already sets a precision (`to_fp32` takes that away), a `half` that sets
/// none, or a learner in the middle of an epoch, from a state that was loaded.
[[nodiscard]] ParityAudit audit_parity(Learner& learn,
                                       const FitCallback& half,
                                       const ParityOptions& options = {});

}  // namespace learn::callbacks
