#pragma once
#include "framework/autograd/node.h"
#include "framework/autograd/param_slot.h"
#include "framework/autograd/var.h"
#include "framework/core/function_ref.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace learn {

class RankGather;

namespace nn {
class Module;
}

/// Observes what each module did in a forward pass: for `summary()`, hooks, profiles and export.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  virtual void forwarded(const nn::Module& module, const Var& in, const Var& out) = 0;
  /// Called at the start of a module, before its children and before its `forwarded`.
  virtual void entered(const nn::Module&) {}
  /// An operation made `out` of `inputs`, whether its node is kept or not.
  virtual void recorded(const Node&, std::span<const Var> /*inputs*/, const Var& /*out*/) {}
};

/// Sees gradients while a backward pass makes them: to find or to plant what is not finite.
class BackwardObserver {
 public:
  virtual ~BackwardObserver() = default;
  /// `gradient`, that of the value with this `Var::id`, is complete, and `operation`, which had
  /// made the value, is about to run backward with it. Not to be written to, as other values may
  /// have the same; another tensor of its shape and dtype may be put in its place.
  virtual void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) = 0;
};

/// Learns when the gradients of parameters are complete, to use them during the backward pass.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  /// The backward pass will not write to `slot.grad` again. Called once for each trained parameter
  /// with a leaf on the tape, also for one whose gradient is zero because the loss does not depend
  /// on it.
  virtual void complete(ParamSlot& slot) = 0;
};

/// Carried by the tape, so no module has a flag that could be left in the wrong state.
enum class ForwardMode : std::uint8_t {
  train,
  train_unfrozen,  ///< the same, but normalization whose weight is not trained works as in `eval`
  eval,
};

struct TapeOptions {
  ForwardMode mode = ForwardMode::train;
  /// False records nothing: a value is freed with the last Var that holds it.
  bool grad = true;
  /// Identifies the batch to the random numbers of this forward pass (dropout).
  std::uint64_t batch = 0;
  /// Index in the whole batch of the tape's first row: the rows of a share draw the random numbers
  /// that they draw in the whole batch. Kernels get it by value, unlike `batch`, so a captured
  /// graph is valid only for the `first_row` it was captured with.
  std::int64_t first_row = 0;
  /// f16 or bf16: operations cast their inputs by their rules (autocast.h).
  std::optional<DType> autocast{};
  /// Excludes the samples of this tape from statistics over several ranks (`set_rank_gather`): a
  /// rank without samples in this batch runs a spare one, with a seed of 0.
  bool spare = false;
  /// Samples of all ranks in this batch; 0: unknown, and BatchNorm waits for the device where it
  /// must count them.
  std::int64_t samples = 0;
};

/// The operations of one step, in the order they ran. Reversed, that is the order of the backward
/// pass, so no graph is walked or sorted. `reset` keeps capacity, and the arena repeats its
/// addresses.
///
/// It does not support double backward or automatic fusion (ADR 0001).
class Tape {
 public:
  explicit Tape(Context& ctx, const TapeOptions& options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A value from outside. With `needs_grad`, `grad_of` returns its gradient after `backward`.
  Var input(Tensor value, bool needs_grad = false);
  /// Images (N,H,W,C) whose last `padding` channels are zeros. A convolution takes them as
  /// images of C - padding channels; for other operations they are channels like all others.
  /// Without padding an `input` of any shape. Throws ShapeError unless a channel is left.
  Var padded_input(Tensor value, std::int64_t padding);
  /// Says of a value that its last `padding` channels are zeros, as `padded_input` does: for
  /// operations that keep them so.
  void set_padding(const Var& v, std::int64_t padding);
  /// The leaf of a parameter: one per tape, so a shared weight has one gradient with one first
  /// writer. A `widened` one is `cast_once` to f32.
  Var param(ParamSlot& slot);
  /// Records `node`, which made `value` from `inputs`, and notifies the observer. Keeps the node
  /// only if an input needs a gradient.
  template <std::derived_from<Node> N>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): both are moved on
  Var record(std::vector<Var> inputs, Tensor value, N node) {
    return record_node(
        std::move(inputs), std::move(value), [&] { return std::make_unique<N>(std::move(node)); });
  }

  /// A value that is computed on demand. Throws Error if the tape records.
  Var defer(std::unique_ptr<const Deferred> value);

  /// Computes gradients of `loss`, one element, times `seed` (1 if undefined): a device tensor of
  /// one element of the loss's dtype or f32. Parameters' gradients go to their slots: the first
  /// writer since they were dropped overwrites, later ones add. Parameters with a leaf on this tape
  /// that got no gradient are zeroed. A parameter's gradient is complete when the first operation
  /// that read it has run backward, or from the start if none did. Each operation and its output's
  /// gradient are freed as soon as it has run backward. Throws Error when called twice, for a loss
  /// that is not one element, or for one that depends on nothing that needs a gradient.
  void backward(const Var& loss, const Tensor& seed = {});

  /// For `Node::backward`: calls `kernel(Tensor& destination, GradMode)` with the place where the
  /// gradient of `v` belongs. Does nothing if the gradient is not needed.
  void accumulate(const Var& v, FunctionRef<void(Tensor&, GradMode)> kernel);

  /// For `Node::backward`: the gradient of `v` (+)= `dy`, which has as many elements; by
  /// `hand_over` where that is possible.
  void pass_on(const Var& v, const Tensor& dy);
  /// Makes `dy` itself the gradient of `v`, without a copy, if no gradient was written yet and `v`
  /// is not a leaf and has the same dtype; otherwise returns false and does nothing. Several values
  /// may share one `dy`: adding to a shared gradient adds to a copy.
  bool hand_over(const Var& v, const Tensor& dy);

  /// The gradient of an `input(..., true)`; undefined if nothing reached it. After `backward`.
  [[nodiscard]] Tensor grad_of(const Var& v) const;

  /// Forgets everything; every Var of this tape is dead. Options may change from step to step.
  void reset(const TapeOptions& options);
  void reset() { reset(options_); }

  [[nodiscard]] Context& context() const noexcept { return ctx_; }
  [[nodiscard]] const TapeOptions& options() const noexcept { return options_; }
  [[nodiscard]] ForwardMode mode() const noexcept { return options_.mode; }
  [[nodiscard]] bool training() const noexcept { return options_.mode != ForwardMode::eval; }
  [[nodiscard]] bool grad() const noexcept { return options_.grad; }
  /// The dtype that operations cast to, f16 or bf16; empty outside an autocast region.
  [[nodiscard]] const std::optional<DType>& autocast() const noexcept { return options_.autocast; }
  /// Prefer an AutocastRegion, which gives it back. Throws as `check_autocast`.
  void set_autocast(const std::optional<DType>& dtype);
  /// Throws DTypeError for a dtype that is not half.
  static void check_autocast(const std::optional<DType>& dtype);
  /// `ops::cast`, done once for a parameter and kept until `reset`: all uses share one copy, and
  /// the copy's gradient goes to the parameter once.
  [[nodiscard]] Var cast_once(const Var& v, DType dtype);
  /// The batch's number as one i64 element on the device, where random operations read it.
  [[nodiscard]] const Tensor& batch_index();
  /// Writes the number of the next batch, if an operation uses it, before recorded work of an
  /// earlier batch is replayed for another one. Not between a forward pass and its backward pass.
  void set_batch_index(std::uint64_t batch);
  /// A distinct number for each random operation of a forward pass, in order of execution.
  [[nodiscard]] std::uint64_t next_random_stream() noexcept { return random_streams_++; }
  /// Uninitialized memory of the step arena.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype) { return ctx_.empty(shape, dtype); }

  /// At most one observer; null removes it. It must outlive its use.
  void observe(ForwardObserver* observer) noexcept { observer_ = observer; }
  [[nodiscard]] ForwardObserver* observer() const noexcept { return observer_; }
  /// Sets the observer of the backward pass.
  void observe_backward(BackwardObserver* observer) noexcept { backward_observer_ = observer; }
  [[nodiscard]] BackwardObserver* backward_observer() const noexcept { return backward_observer_; }
  /// Sets the observer of parameters' gradients.
  void observe_gradients(GradientObserver* observer) noexcept { gradient_observer_ = observer; }
  /// Sets the exchange by which training normalizes the samples of all ranks as one batch. With
  /// null, the default, a tape normalizes its samples alone. It must outlive the passes that use
  /// it.
  void set_rank_gather(RankGather* ranks) noexcept { rank_gather_ = ranks; }
  [[nodiscard]] RankGather* rank_gather() const noexcept { return rank_gather_; }

 private:
  friend class Var;
  /// Metadata of a value, without the value.
  struct Value {
    std::weak_ptr<Var::Content> content{};
    Shape shape{};
    DType dtype = DType::f32;
    Tensor grad{};
    ParamSlot* param = nullptr;
    bool needs_grad = false;
    bool written = false;
    bool handed_over = false;  ///< its gradient is a tensor that others may have as well
    bool leaf = false;
    bool complete = false;               ///< of a leaf: nothing may be added to its gradient
    std::uint32_t first_reader = kNone;  ///< of a leaf: the record that runs backward last
  };
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  struct Record {
    std::unique_ptr<Node> node;
    std::uint32_t output;
  };

  Var push(Tensor data, Value value);
  Var leaf_of(ParamSlot& slot);
  [[nodiscard]] Tensor copied(const Tensor& gradient);
  void forget_values();
  void complete(Value& leaf);
  Var record_node(std::vector<Var> inputs, Tensor value, FunctionRef<std::unique_ptr<Node>()> make);
  [[nodiscard]] const Value& at(const Var& v) const;
  [[nodiscard]] Value& at(const Var& v);

  Context& ctx_;
  TapeOptions options_;
  std::vector<Value> values_;
  std::vector<Record> records_;
  std::unordered_map<const ParamSlot*, std::uint32_t> leaves_;
  std::unordered_map<const ParamSlot*, Var> cast_params_;
  std::uint64_t random_streams_ = 0;
  Tensor batch_index_;
  std::optional<std::uint64_t> known_batch_index_;  // what it holds
  bool backward_done_ = false;
  ForwardObserver* observer_ = nullptr;
  BackwardObserver* backward_observer_ = nullptr;
  GradientObserver* gradient_observer_ = nullptr;
  RankGather* rank_gather_ = nullptr;
};

}  // namespace learn
