#pragma once
#include "framework/autograd/tape.h"
#include "framework/interfaces/batch.h"
#include "framework/learner/callback_list.h"
#include "framework/learner/find/batch_size_find.h"
#include "framework/learner/find/lr_find.h"
#include "framework/learner/learner_state.h"
#include "framework/learner/loop_state.h"
#include "framework/learner/update_weight.h"
#include "framework/metrics/metric.h"
#include "framework/nn/loss.h"
#include "framework/nn/model.h"
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn {

using nn::Model;

/// Reporting of the learner without further callbacks.
enum class Report : std::uint8_t {
  off,       ///< nothing
  record,    ///< nothing, but a Recorder keeps what happens
  progress,  ///< a Recorder, and Progress prints its table and a bar
};

struct LearnerOptions {
  nn::Loss loss = nn::cross_entropy();
  optim::OptimizerFactory optimizer;  ///< default: SGD with momentum 0.9
  std::vector<Metric> metrics;        ///< of validation
  /// The metrics of the training pass too, as "train_NAME": of what the training's own forward
  /// passes gave, of a model that moved from batch to batch, with augmentation and dropout.
  bool train_metrics = false;
  optim::LearningRates lr = 1e-3;  ///< default of `fit`
  Report report = Report::progress;
};

using optim::LearningRates;
using optim::range;

using OneCycleOptions = optim::schedules::OneCycleShape;
using optim::schedules::SgdrShape;

/// The second part of `Learner::fine_tune`, and how long the first one lasts. fastai's defaults.
struct FineTuneOptions {
  std::int64_t freeze_epochs = 1;
  double lr_mult = 100;  ///< the last layer group's rate divided by the first group's
  double pct_start = 0.3;
  double div = 5;
};

struct Predictions {
  Tensor preds;     ///< (samples, classes) f32 on the host: the model's outputs, no softmax
  Tensor targets;   ///< (samples) i64 or (samples, classes) f32; undefined without targets
  double loss = 0;  ///< mean over samples, each weighted as the learner's loss does
  // The requested values.
  Tensor inputs;   ///< (samples,...) as the batches hold them: normalized, with their `padding`
  Tensor losses;   ///< (samples) f32; undefined without targets
  Tensor decoded;  ///< (samples) i64: the class of the largest output, -1 where one is NaN
};

/// Optional results of `Learner::get_preds` in addition to outputs and targets. All of it is in
/// host memory, and twice while the batches are joined: for each sample, 4 bytes for each output,
/// as many as the sample itself has for its inputs (3 KiB for 32x32 colours), 4 for its loss, 8 for
/// its class.
struct PredictionParts {
  bool with_inputs = false;
  /// The learner's own loss of each sample alone, as of a batch of one.
  bool with_losses = false;
  bool with_decoded = false;
};

/// The training loop (see event.h), its state, and its parts. Owns the model and the callbacks;
/// context and data are borrowed and must outlive it.
///
/// An exception in the loop leaves `fit`, `validate` etc. after the `error` event; the learner
/// stays usable. Calling any of them, or `add`, `insert` or `remove`, from a handler throws
/// std::logic_error.
class Learner {
 public:
  /// With the callbacks of `options.report`. Throws UsageError for a model without parameters or
  /// module, or with fewer classes than a metric needs; DataError for sources that declare
  /// different shapes of a sample. (A batch whose samples differ from its source's declaration is
  /// one in the loop.)
  Learner(Context& ctx, Model model, BatchSources data, LearnerOptions options = {});
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Constructs a callback in place and returns it. Throws UsageError that names both if it
  /// conflicts with another one.
  template <std::derived_from<Callback> C, class... Args>
  C& add(Args&&... args) {
    auto owned = std::make_unique<C>(std::forward<Args>(args)...);
    C& callback = *owned;
    insert(std::move(owned), handled_by<C>());
    return callback;
  }
  /// Adds an existing callback: `learn.add_cb(EarlyStopping(options))`.
  template <std::derived_from<Callback> C>
  C& add_cb(C callback) {
    return add<C>(std::move(callback));
  }
  template <std::derived_from<Callback>... Cs>
  void add_cbs(Cs... callbacks) {
    (add<Cs>(std::move(callbacks)), ...);
  }
  /// From now on trains and validates on other data, such as larger images or another split.
  /// Borrows them, like the first. The next fit is a new one, even after `resume`. For sources that
  /// declare different shapes of a sample, throws DataError and changes nothing; std::logic_error
  /// from a handler.
  void set_data(BatchSources data);
  /// Moves the trained model out, for another learner: `std::move(learn).take_model()`. The
  /// optimizer's state is dropped. Records of this learner can still be read (results, progress,
  /// options, callbacks); everything that needs the model throws std::logic_error, as does a call
  /// from a handler.
  [[nodiscard]] Model take_model() &&;

  /// For callbacks made by the registry.
  void insert(std::unique_ptr<Callback> callback, EventSet events);
  /// Removes a callback; one that is not there is a UsageError. Not from inside a handler.
  void remove(const Callback& callback);
  /// The first callback of type `C`, or null: how one callback reaches another.
  template <std::derived_from<Callback> C>
  [[nodiscard]] C* find() const noexcept {
    return callbacks_.find<C>();
  }

  // Training. The `callbacks` of a fit are added to the learner's, after its own, during the fit:
  // they are removed at its end, even after an error, and their state in the ParamStore is dropped.
  // If one of them is refused, as by `add`, the learner is unchanged.

  /// Trains for `epochs` passes, with a validation pass after each if there is a validation source.
  /// At `options().lr` unless rates are given. Throws UsageError for a negative count, bad rates,
  /// or a training source without batches; DataError if a source gives fewer batches than it
  /// announced.
  void fit(std::int64_t epochs) { fit(epochs, options_.lr); }
  void fit(std::int64_t epochs, const LearningRates& lrs, const FitCallbacks& callbacks = {});
  /// The one-cycle policy (Leslie Smith, 2018) with fastai's constants: learning rate up from
  /// lr_max / div, then down to lr_max / div_final, momentum the other way, both along cosines.
  void fit_one_cycle(std::int64_t epochs,
                     const LearningRates& lr_max,
                     const OneCycleOptions& options = {},
                     FitCallbacks callbacks = {});
  /// Flat, then cosine to lr / div_final from `pct_start` on.
  void fit_flat_cos(std::int64_t epochs,
                    const LearningRates& lrs,
                    double div_final = 1e5,
                    double pct_start = 0.75,
                    FitCallbacks callbacks = {});
  /// Cosines with warm restarts: as many epochs as the cycles of `shape` have together.
  void fit_sgdr(const LearningRates& lr_max,
                const SgdrShape& shape = {},
                FitCallbacks callbacks = {});
  /// Fine-tunes a model whose last layer group is new, with fastai's policy: the last group alone
  /// at `base_lr` for `freeze_epochs`, then all groups for `epochs` at half of it, with rates that
  /// fall towards the first group. A model of one layer group is split at its `Model::split`.
  /// Throws UsageError if that is empty.
  void fine_tune(std::int64_t epochs,
                 double base_lr = 2e-3,
                 const FineTuneOptions& options = {},
                 const FitCallbacks& callbacks = {});
  /// Tries learning rates from small to large, one for each update, in a Sandbox: afterwards the
  /// learner is unchanged to the bit, even after an error or an interrupt. See lr_find.h.
  ///
  /// The rate of the last layer group is swept; the others keep their ratio of `options().lr` to
  /// it. Momentum and weight decay are the optimizer's. It does not validate, and callbacks that
  /// schedule, stop or report a training take no part (`Callback::runs_in_sandbox`). Throws
  /// UsageError for impossible options or a source without batches, DivergedError if the first loss
  /// is not finite, std::logic_error from a handler.
  [[nodiscard]] LrFindResult lr_find(const LrFindOptions& options = {});
  /// Times training steps at batch sizes from small to large, each twice the previous one, in a
  /// Sandbox as `lr_find`, until memory or samples end; see batch_size_find.h. Throws UsageError
  /// for impossible options, the errors of `make_source`, DataError for data of another shape,
  /// std::logic_error from a handler. Running out of memory is a result and not an error.
  [[nodiscard]] BatchSizeFindResult batch_size_find(const BatchSourceOfSize& make_source,
                                                    const BatchSizeFindOptions& options = {});
  /// A validation pass alone, with its events. Returns results(), with valid_loss and metrics.
  /// Throws UsageError without a validation source.
  const PassResults& validate();
  /// Evaluates another source, such as a test set.
  const PassResults& evaluate(BatchSource& source);
  /// Model outputs for every sample of a source, in its order, in eval mode; events as in
  /// `validate`. Its loss is NaN for a source without targets.
  [[nodiscard]] Predictions get_preds(BatchSource& source, const PredictionParts& parts = {});
  /// Softmax probabilities (N,classes) f32 on the host for inputs (N,H,W,C) f32, already
  /// normalized.
  [[nodiscard]] Tensor predict(const Tensor& x);

  // Control, from handlers. All throw std::logic_error where they make no sense.

  /// Ends `scope`, which must be open, as soon as the running handler returns (ADR 0003): no
  /// further handler of an event inside a scope runs (those that open or close one always reach
  /// everyone), open scopes inside close with their end events,
  /// `cancelled(scope)` is emitted, then the scope's own end event. The outermost request wins. A
  /// scope that is closing already closes as normal.
  void cancel(Scope scope);
  /// This batch ends without an update, and nothing of it stays: running statistics go back to what
  /// they were, gradients that were held are dropped. From backward_begin, backward_end: the step
  /// scope is not opened; from step_begin: the same as cancel(Scope::step).
  void skip_step();
  /// This batch ends without an update, and the backward pass of the next one adds to its
  /// gradients, so that the window makes the update of one big batch, in which each batch counts by
  /// the weight of its loss (`nn::Loss::weight`), usually its number of samples. From
  /// backward_begin. If that next batch is skipped or is cancelled after its forward pass, or the
  /// training pass ends, the gradients are dropped.
  void defer_step();

  // Values that a handler may replace. Throws std::logic_error at other events than those stated
  // here.

  /// The batch's inputs (as many samples and channels, padding included) and its targets. From
  /// batch_begin; the targets from loss_begin too.
  void set_x(Tensor x);
  void set_y(Tensor y);
  /// Targets of the loss; metrics still compare with y. From batch_begin.
  void set_loss_y(Tensor y);
  /// The input of the loss. At loss_begin.
  void set_pred(Var pred);
  /// The recorded loss, and the start of the backward pass: one element. At backward_begin.
  void set_loss(Var loss);
  /// The loss's gradient: one device element, not to be written to later. A callback that sets it
  /// calls `grads_unscaled` before the step; otherwise the step is a std::logic_error that names
  /// it. From backward_begin.
  void set_seed(Tensor seed);
  /// How many updates the fit will make, for schedules on that clock. From train_begin.
  void set_planned_steps(std::int64_t steps);
  /// Adds a value to `results().metrics`, or replaces the one of that name: it appears in table,
  /// files and history like a metric of the learner. At validate_end. To make it available for
  /// monitoring, name it in the callback's `metrics`.
  void add_metric(std::string name, double value);

  // Gradients, from handlers.

  /// The gradients as the backward pass left them, times the seed (the loss scale). Only at
  /// backward_end, before anyone unscaled them. Otherwise throws std::logic_error that names the
  /// callback that runs and the one that unscales.
  [[nodiscard]] nn::ParamStore& scaled_grads();
  /// f32 master gradients (`flat_grad`, `master_grad`), unscaled. Only at step_begin; throws
  /// otherwise.
  [[nodiscard]] nn::ParamStore& grads();
  /// The callback that set a seed declares that `flat_grad` no longer holds it. From backward_end.
  void grads_unscaled();

  // Parts.

  [[nodiscard]] Context& context() const noexcept { return ctx_; }
  [[nodiscard]] nn::Module& model() const {
    require_model("model");
    return *model_.module;
  }
  [[nodiscard]] const Model& model_info() const {
    require_model("model_info");
    return model_;
  }
  [[nodiscard]] nn::ParamStore& params() const {
    require_model("params");
    return *model_.params;
  }
  [[nodiscard]] optim::Optimizer& optimizer() const {
    require_model("optimizer");
    return *optimizer_;
  }
  [[nodiscard]] Tape& tape() noexcept { return tape_; }
  [[nodiscard]] BatchSource& train_source() const noexcept { return *state_.data.train; }
  [[nodiscard]] BatchSource* valid_source() const noexcept { return state_.data.valid; }
  [[nodiscard]] const LearnerOptions& options() const noexcept { return options_; }
  /// Clocks, position and plan.
  [[nodiscard]] const FitProgress& progress() const noexcept { return state_.progress; }
  /// The running batch; an empty one between two.
  [[nodiscard]] const BatchRun& batch() const noexcept { return batch_; }
  /// Metrics of the validation in addition to the loss: the learner's, and those that callbacks
  /// declare.
  [[nodiscard]] std::vector<std::string> metric_names() const;
  /// Checks a fit before its first batch: throws UsageError if the training source has a batch of
  /// one sample and the model a BatchNorm that would get one value per channel.
  void check_batches() const;
  /// Losses and metrics of the last passes.
  [[nodiscard]] const PassResults& results() const noexcept { return state_.results; }
  [[nodiscard]] const CallbackList& callbacks() const noexcept { return callbacks_; }
  /// The connection between ranks; null if this process trains alone.
  [[nodiscard]] Exchange* exchange() const { return callbacks_.exchange(); }
  /// Whether the update of the current batch was made; also false if the device skipped it because
  /// a gradient was not finite, which `batch().outcome` does not show. From step_end and batch_end
  /// of a training batch; waits for the device.
  [[nodiscard]] bool step_applied() const;
  /// Brings `progress().step_clock` up to date; waits for the device.
  void sync_step_clock();
  /// How the body of a training batch is run; `EagerStep` by default. Never null.
  void set_step_runner(std::unique_ptr<StepRunner> runner);
  /// Says that an option of a module or of the loss was changed: a dropout probability, a margin.
  /// Captured steps, which have the old value in them, are dropped. Callbacks have
  /// `captured_options` for theirs.
  void step_changed() noexcept { ++step_changes_; }
  /// The mode of the forward pass of training batches: `train` unless another was set. Captured
  /// steps are dropped.
  void set_training_mode(ForwardMode mode);
  [[nodiscard]] ForwardMode training_mode() const noexcept { return state_.training_mode; }
  /// For a StepRunner: what is passed to a step's work by value. A captured step is that of another
  /// one only while these are equal.
  [[nodiscard]] std::vector<double> captured_options() const;
  /// For a StepRunner, when the body's work is done: what that left, or would have.
  void set_results(const Tensor& pred, const Tensor& loss, const Tensor& weight, Outcome outcome);

  /// Splits the model into layer groups (see ParamStore::set_layer_groups) and updates the
  /// optimizer.
  void split(const std::vector<std::string>& boundaries);
  /// Trains layer groups from `layer_group` on only, see ParamStore::freeze_to.
  void freeze_to(int layer_group, bool train_bn = true);
  void freeze(bool train_bn = true) { freeze_to(-1, train_bn); }
  void unfreeze() { freeze_to(0); }

  /// Selects modules that always compute in f32: see ParamStore::keep_f32.
  void keep_f32(const std::vector<std::string>& modules);
  /// Forward passes, losses included, run under autocast to f16 or bf16 from now on; nothing: no
  /// more of it. For callbacks that choose the precision. Throws DTypeError for another dtype.
  void set_autocast(const std::optional<DType>& dtype);
  [[nodiscard]] const std::optional<DType>& autocast() const noexcept { return state_.autocast; }

  /// The handler that is running, in words: "'gradient_clip' at step_begin".
  [[nodiscard]] std::string current_handler() const { return callbacks_.current_handler(); }
  /// A table of the model's layers; see nn::summary.
  [[nodiscard]] std::string summary() const;
  /// The loop, with the callbacks that run at each event.
  [[nodiscard]] std::string explain() const { return callbacks_.explain(); }

  /// Everything a resumed run needs: store, optimizer, callbacks, clocks, position in the data and
  /// in the fit. It does not include gradients that are held for a later step.
  ///
  /// A state that was saved in one precision can be loaded in any other, with a warning: weights,
  /// the optimizer's moments and the rest are f32 in all of them, and `continued_scale` keeps,
  /// starts or drops the loss scale.
  ///
  /// A state saved in a fit with its own callbacks must be loaded with the same callbacks,
  /// `of_fit`, before `resume` and that fit. With any it throws std::logic_error from a handler,
  /// and the errors of `add`.
  void visit_state(StateVisitor& visitor, const FitCallbacks& of_fit = {});
  /// Writes the whole state to a file (`save_state`, of framework/io/checkpoint.h), so that an
  /// equally constructed learner can `load` it and, to finish the fit, `resume`.
  void save(const std::filesystem::path& path);
  /// Throws CheckpointError for a file that does not match; do not use this learner afterwards.
  void load(const std::filesystem::path& path);
  /// Writes weights and running statistics only, with PyTorch's names and layout.
  void save_weights(const std::filesystem::path& path);
  /// Throws CheckpointError that lists the differences, and changes nothing then.
  void load_weights(const std::filesystem::path& path);
  /// After loading a state, the next fit continues the fit in which the state was saved, with the
  /// remaining epochs, batches and updates, and finishes an interrupted epoch. With the same data,
  /// model, callbacks and arguments it ends with the same bits as if it had never stopped. That fit
  /// throws UsageError if its epochs, batches or rates differ from the saved ones; `resume` itself
  /// if the state holds no fit.
  void resume();
  /// For a Sandbox: stores the state that is kept between two calls and continues with a copy
  /// without a fit in progress; callbacks that take no part in a sandbox are disabled from here on.
  /// Throws std::logic_error from a handler.
  [[nodiscard]] LearnerState enter_sandbox();
  /// Takes back what `enter_sandbox` returned.
  void leave_sandbox(LearnerState before);

 private:
  // Callbacks that are not there for good (fit.cpp).
  class Joined;

  // The loop (loop.cpp).
  void train(std::int64_t epochs);
  void train_epoch();
  [[nodiscard]] bool train_batch();
  void step();
  void validate_epoch(BatchSource& source);
  void evaluate(BatchSource& source, FunctionRef<void()> each_batch, FunctionRef<void()> at_end);
  void evaluate_batch(FunctionRef<void()> each_batch);

  // Preparation, counting and cleanup around it (bookkeeping.cpp).
  [[nodiscard]] bool begin_train_pass();
  void end_train_pass();
  [[nodiscard]] bool next_batch(BatchSource& source);
  void release_batch();
  [[nodiscard]] Tensor sample_losses();
  void begin_train_metrics();
  void check_announced(std::int64_t epochs) const;
  void check_batch(const BatchSource& source) const;
  void check_pass_is_whole() const;
  void check_place(bool right) const;
  void check_smallest_batch(ForwardMode mode) const;
  void begin_attempt();
  [[nodiscard]] Var forward(ForwardMode mode);
  void compute_loss();
  void backward();
  void weigh(const Tensor& whole);
  void take_totals();
  void begin_pass_of(BatchSource& source, std::int64_t epoch);
  void take_share();
  [[nodiscard]] Tensor of_all_ranks(const Tensor& rows);
  void finish(Scope scope);
  void finish_batch();
  void drop_held_gradients();

  // Events, scopes and activities (events.cpp).
  void emit(Event event);
  void run(Scope scope, FunctionRef<void()> body);
  [[nodiscard]] bool cancelled() const noexcept { return scopes_.cancelled(); }
  template <std::same_as<Event>... Events>
  void require_at(std::string_view what, Events... events) const;
  void require_model(std::string_view what) const;
  void require_idle(std::string_view what) const;
  void run_activity(Activity activity, FunctionRef<void()> body);

  // A fit that continues a saved one (resume.cpp).
  void visit_all(StateVisitor& visitor);
  void visit_fit(StateVisitor& visitor);
  void visit_precision(StateVisitor& visitor);
  [[nodiscard]] std::vector<GroupHypers> begin_fit(std::int64_t epochs);

  Context& ctx_;
  Model model_;
  LearnerOptions options_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Tape tape_;
  CallbackList callbacks_;
  std::unique_ptr<StepRunner> runner_;
  std::int64_t step_changes_ = 0;  // of options known only to their owners
  LearnerState state_;
  // State of the running call.
  ScopeStack scopes_;
  BatchRun batch_;
  // Set a seed that gradients of this update are still scaled by; batches share it that are held.
  std::vector<const Callback*> seeded_by_;
  UpdateWeight update_weight_;
  bool takes_share_ = false;  // of each batch of the running pass
};

}  // namespace learn
