#pragma once
#include "framework/autograd/tape.h"
#include "framework/learner/callback.h"
#include "framework/learner/metric.h"
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

struct OneCycleOptions {
  double div = 25;          ///< first lr = lr_max / div
  double div_final = 1e5;   ///< last lr = lr_max / div_final
  double pct_start = 0.25;  ///< share of the rising phase
  double mom_max = 0.95;
  double mom_min = 0.85;
};

struct Predictions {
  Tensor preds;     ///< (samples, classes) f32 on the host: the model's outputs, no softmax
  Tensor targets;   ///< (samples) i64 or (samples, classes) f32
  double loss = 0;  ///< mean over samples
};

/// The training loop (see event.h), its state, and what it drives. Owns the model and the
/// callbacks; context and data are borrowed and must outlive it.
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

  void fit(std::int64_t epochs, const LrSpec& lrs = {});
  void fit_one_cycle(std::int64_t epochs,
                     const LrSpec& lr_max,
                     const OneCycleOptions& options = {});
  /// Flat, then cosine to lr / div_final from `pct_start` on.
  void fit_flat_cos(std::int64_t epochs,
                    const LrSpec& lrs,
                    double div_final = 1e5,
                    double pct_start = 0.75);
  /// A validation pass alone, with its events; fills state().valid_loss and state().metrics.
  void validate();
  /// Model outputs for every sample of a source, in its order, in eval mode; events as in
  /// `validate`.
  [[nodiscard]] Predictions get_preds(BatchSource& source);
  /// Softmax probabilities (N,classes) f32 on the host for inputs (N,H,W,C) f32, already
  /// normalised.
  [[nodiscard]] Tensor predict(const Tensor& x);

  // Control, from handlers.

  /// Ends `scope`, which must be open, as soon as the running handler returns: no further handler
  /// of this event runs, open scopes inside close with their end events, `cancelled(scope)` is
  /// emitted, then the scope's own end event. Throws std::logic_error if it is not open.
  void cancel(Scope scope);
  /// This batch ends without an update. From backward_begin, backward_end: the step scope is not
  /// opened; from step_begin: the same as cancel(Scope::step).
  void skip_step();
  /// The coming backward pass adds to the gradients that are there. From backward_begin.
  void accumulate_gradients();

  // Gradients, from handlers.

  /// The gradients as the backward pass left them, times the loss scale. Only at backward_end,
  /// before anyone unscaled them. Throws std::logic_error that names the asking callback and the
  /// one that unscales otherwise.
  [[nodiscard]] nn::ParamStore& scaled_grads();
  /// f32 master gradients (`flat_grad`, `master_grad`), unscaled. Only at step_begin. Throws
  /// likewise.
  [[nodiscard]] nn::ParamStore& grads();
  /// MixedPrecision says that it has unscaled the gradients of this step.
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

  /// Splits the model into layer groups (see ParamStore::set_layer_groups) and tells the optimizer.
  void split(const std::vector<std::string>& boundaries);
  void freeze_to(int layer_group);
  void freeze() { freeze_to(-1); }
  void unfreeze() { freeze_to(0); }

  /// The callbacks an event reaches, in the order they run. `explain` prints the loop from the same
  /// table.
  [[nodiscard]] std::vector<const Callback*> listeners(Event event) const;
  [[nodiscard]] std::string explain() const;

  /// Everything a resumed run needs: store, optimizer, callbacks, clocks, position in the data.
  void visit_state(StateVisitor& visitor);

 private:
  struct Slot {
    std::unique_ptr<Callback> callback;
    EventSet events;
  };

  Context& ctx_;
  Model model_;
  BatchSource& train_;
  BatchSource* valid_;
  LearnerOptions options_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Tape tape_;
  TrainState state_;
  std::vector<Slot> slots_;  // sorted once, at insertion
};

}  // namespace learn
