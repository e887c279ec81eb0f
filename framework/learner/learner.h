#pragma once
#include "framework/autograd/tape.h"
#include "framework/learner/callback.h"
#include "framework/learner/loss_meter.h"
#include "framework/learner/metric.h"
#include "framework/learner/step_runner.h"
#include "framework/learner/train_state.h"
#include "framework/nn/loss.h"
#include "framework/nn/model.h"
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"
#include "framework/tensor/batch.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

using nn::Model;

struct LearnerOptions {
  nn::Loss loss = nn::cross_entropy();
  optim::OptimizerFactory optimizer;  ///< default: SGD with momentum 0.9
  std::vector<Metric> metrics;
  float lr = 1e-3F;  ///< what `fit` uses when told nothing
};

/// How `fit` is told learning rates: one; a pair (geometric range over the layer groups); a list.
using LrSpec = std::vector<float>;

using OneCycleOptions = optim::schedules::OneCycleShape;

struct Predictions {
  Tensor preds;     ///< (samples, classes) f32 on the host: the model's outputs, no softmax
  Tensor targets;   ///< (samples) i64 or (samples, classes) f32; undefined if there are none
  double loss = 0;  ///< mean over samples
};

/// The training loop (see event.h), its state, and what it drives. Owns the model and the
/// callbacks; context and data are borrowed and must outlive it.
///
/// Whatever throws in the loop leaves `fit`, `validate` and the rest after the `error` event; the
/// learner can be used again. None of them, nor `add`, `insert` and `remove`, can be called from a
/// handler: std::logic_error.
class Learner {
 public:
  Learner(Context& ctx,
          Model model,
          BatchSource& train,
          BatchSource* valid,
          LearnerOptions options = {});
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Constructs a callback in place and returns it. Throws UsageError that names both if it
  /// contradicts one that is there.
  template <std::derived_from<Callback> C, class... Args>
  C& add(Args&&... args) {
    auto owned = std::make_unique<C>(std::forward<Args>(args)...);
    C& callback = *owned;
    insert(std::move(owned), handled_by<C>());
    return callback;
  }
  /// For callbacks made by the registry.
  void insert(std::unique_ptr<Callback> callback, EventSet events);
  /// Removes a callback; one that is not there is a UsageError. Not from inside a handler.
  void remove(const Callback& callback);
  /// The first callback of type `C`, or null: how one callback reaches another.
  template <std::derived_from<Callback> C>
  [[nodiscard]] C* find() const noexcept {
    for (const Slot& slot : slots_)
      if (auto* c = dynamic_cast<C*>(slot.callback.get())) return c;
    return nullptr;
  }

  // Training.

  /// Trains for `epochs` passes, with a validation pass after each if there is a validation source.
  /// `lrs` as `optim::spread_lrs` takes them; none: `options().lr`. Throws UsageError for a
  /// negative count, bad rates, or a training source without batches.
  void fit(std::int64_t epochs, const LrSpec& lrs = {});
  /// The one-cycle policy (L. Smith, 2018) with fastai's constants: learning rate up from
  /// lr_max / div, then down to lr_max / div_final, momentum the other way, both along cosines.
  void fit_one_cycle(std::int64_t epochs,
                     const LrSpec& lr_max,
                     const OneCycleOptions& options = {});
  /// Flat, then cosine to lr / div_final from `pct_start` on.
  void fit_flat_cos(std::int64_t epochs,
                    const LrSpec& lrs,
                    double div_final = 1e5,
                    double pct_start = 0.75);
  /// A validation pass alone, with its events; fills state().valid_loss and state().metrics. Throws
  /// UsageError without a validation source.
  void validate();
  /// Model outputs for every sample of a source, in its order, in eval mode; events as in
  /// `validate`. Its loss is NaN for a source without targets.
  [[nodiscard]] Predictions get_preds(BatchSource& source);
  /// Softmax probabilities (N,classes) f32 on the host for inputs (N,H,W,C) f32, already
  /// normalised.
  [[nodiscard]] Tensor predict(const Tensor& x);

  // Control, from handlers. All throw std::logic_error where they make no sense.

  /// Ends `scope`, which must be open, as soon as the running handler returns (ADR 0003): no
  /// further handler of loss_begin, backward_begin or backward_end runs (events that open or close
  /// a scope always reach everyone), open scopes inside close with their end events,
  /// `cancelled(scope)` is emitted, then the scope's own end event. The outermost request wins. A
  /// scope that is closing already closes as normal.
  void cancel(Scope scope);
  /// This batch ends without an update, and nothing of it stays: running statistics go back to what
  /// they were, gradients that were held are dropped. From backward_begin, backward_end: the step
  /// scope is not opened; from step_begin: the same as cancel(Scope::step).
  void skip_step();
  /// This batch ends without an update, and the backward pass of the next one adds to its
  /// gradients. From backward_begin. If that next batch is skipped or is cancelled after its
  /// forward pass, or the training pass ends, the gradients are dropped.
  void defer_step();

  // Gradients, from handlers.

  /// The gradients as the backward pass left them, times the seed (the loss scale). Only at
  /// backward_end, before anyone unscaled them. Throws std::logic_error that names the asking
  /// callback and the one that unscales otherwise.
  [[nodiscard]] nn::ParamStore& scaled_grads();
  /// f32 master gradients (`flat_grad`, `master_grad`), unscaled. Only at step_begin. Throws
  /// likewise.
  [[nodiscard]] nn::ParamStore& grads();
  /// The callback that had set a seed says that `flat_grad` no longer holds it. From backward_end.
  void grads_unscaled();

  // Parts.

  [[nodiscard]] Context& context() const noexcept { return ctx_; }
  [[nodiscard]] nn::Module& model() const noexcept { return *model_.module; }
  [[nodiscard]] const Model& model_info() const noexcept { return model_; }
  [[nodiscard]] nn::ParamStore& params() const noexcept { return *model_.params; }
  [[nodiscard]] optim::Optimizer& optimizer() const noexcept { return *optimizer_; }
  [[nodiscard]] Tape& tape() noexcept { return tape_; }
  [[nodiscard]] BatchSource& train_source() const noexcept { return train_; }
  [[nodiscard]] BatchSource* valid_source() const noexcept { return valid_; }
  [[nodiscard]] const LearnerOptions& options() const noexcept { return options_; }
  [[nodiscard]] TrainState& state() noexcept { return state_; }
  [[nodiscard]] const TrainState& state() const noexcept { return state_; }
  /// Brings `state().step_clock` up to date; waits for the device.
  void sync_step_clock();
  /// How the body of a training batch is run; `EagerStep` unless told otherwise. Never null.
  void set_step_runner(std::unique_ptr<StepRunner> runner);
  /// For a StepRunner: the body of the running batch has come to its end, optimizer step included.
  [[nodiscard]] bool stepped() const noexcept { return stepped_ && !cancelled_; }
  /// Says that an option of a module or of the loss was changed: a dropout probability, a margin.
  /// Captured steps, which have the old value in them, are dropped. Callbacks have
  /// `captured_options` for theirs.
  void step_changed() noexcept { ++step_changes_; }
  /// For a StepRunner: what is passed to a step's work by value. A captured step is that of another
  /// one only while these are equal.
  [[nodiscard]] std::vector<double> captured_options() const;
  /// For a StepRunner that did the body's work without running it: what that left.
  void adopt_step(const Tensor& pred, const Tensor& loss);

  /// Splits the model into layer groups (see ParamStore::set_layer_groups) and tells the optimizer.
  void split(const std::vector<std::string>& boundaries);
  void freeze_to(int layer_group);
  void freeze() { freeze_to(-1); }
  void unfreeze() { freeze_to(0); }

  /// The handler that is running, in words: "'gradient_clip' at step_begin".
  [[nodiscard]] std::string asking() const;
  /// The callbacks an event reaches, in the order they run. `explain` prints the loop from the same
  /// table.
  [[nodiscard]] std::vector<const Callback*> listeners(Event event) const;
  [[nodiscard]] std::string explain() const;

  /// Everything a resumed run needs: store, optimizer, callbacks, clocks, position in the data and
  /// in the fit. Gradients that are held for a later step are no part of it.
  void visit_state(StateVisitor& visitor);
  /// After a state was loaded: the next fit goes on inside the fit that the state was saved in,
  /// with the epochs, batches and updates that were left, and finishes an epoch that was cut short.
  /// With the same data, model, callbacks and arguments it ends with the same bits as if it had
  /// never stopped. That fit throws UsageError if it is told other epochs, batches or rates than
  /// the saved one; `resume` itself if the state holds no fit.
  void resume();

 private:
  struct Slot {
    std::unique_ptr<Callback> callback;
    EventSet events;
  };
  /// The handler that is running now.
  struct Running {
    const Callback* callback = nullptr;
    Event event = Event::error;
  };

  // Events and scopes (events.cpp).
  void emit(Event event);
  void emit_cancelled(Scope scope);
  void emit_error(const std::exception& error) noexcept;
  void run(Scope scope, FunctionRef<void()> body);
  void require_idle(std::string_view what) const;
  void drive(Activity activity, FunctionRef<void()> body);

  // Passes and batches (loop.cpp).
  void train_pass();
  [[nodiscard]] Var input();
  void train_batch();
  void forget_attempt();
  void train_step();
  void settle(Scope scope);
  void settle_epoch();
  void settle_batch();
  void drop_held_gradients();
  void roll_back_buffers();
  void release_batch();
  void evaluate(BatchSource& source, FunctionRef<void()> each_batch, FunctionRef<void()> at_end);
  void evaluate_batch(FunctionRef<void()> each_batch);
  void validation_pass();
  void train(std::int64_t epochs);

  // Going on (resume.cpp).
  void visit_fit(StateVisitor& visitor);
  void begin_fit(std::int64_t epochs);
  void go_on_with_fit(std::int64_t epochs, std::int64_t batches);
  [[nodiscard]] std::vector<GroupHypers> hypers() const;
  void set_hypers(const std::vector<GroupHypers>& hypers);

  void check_conflicts(const Callback& added) const;

  Context& ctx_;
  Model model_;
  BatchSource& train_;
  BatchSource* valid_;
  LearnerOptions options_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Tape tape_;
  TrainState state_;
  std::unique_ptr<StepRunner> runner_;
  LossMeter losses_;
  std::vector<Slot> slots_;               // sorted once, at insertion
  std::vector<Scope> open_;               // the scopes around us, outermost first
  std::optional<std::size_t> cancelled_;  // index into open_ of the scope that is ending
  Running running_;
  std::vector<GroupHypers> fit_hypers_;      // when the fit began, before any schedule
  std::vector<GroupHypers> resumed_hypers_;  // as loaded, for the next fit; empty: it is a new one
  std::int64_t step_changes_ = 0;            // of options that only their owners know
  const Callback* seeder_ = nullptr;         // who set the seed of this backward pass
  const Callback* unscaler_ = nullptr;       // who took it out again
  bool forward_ran_ = false;                 // of this batch; the same for the two below
  bool skipped_ = false;
  bool stepped_ = false;
};

}  // namespace learn
