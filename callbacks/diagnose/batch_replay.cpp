#include "callbacks/diagnose/batch_replay.h"

#include "callbacks/diagnose/fault_planter.h"
#include "callbacks/diagnose/inject.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/learner.h"
#include "framework/nn/module.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn::callbacks {
namespace {

/// The result of a search for non-finite values, and the largest finite magnitude.
struct Magnitude {
  bool finite = true;
  double largest = 0;
};

Magnitude magnitude_of(Context& ctx, const Tensor& x) {
  Magnitude found;
  if (!is_floating(x.dtype())) return found;
  const Tensor host = x.device().is_cpu() ? x : to_host(ctx, x);
  visit_floating(host.dtype(), [&]<class T>() {
    for (const T& element : host.span<T>()) {
      const double value = std::fabs(as_double(element));
      if (std::isfinite(value))
        found.largest = std::max(found.largest, value);
      else
        found.finite = false;
    }
  });
  return found;
}

void note(Replay::Largest& largest, double value, const std::string& where) {
  if (value > largest.value) largest = {value, where};
}

/// Watches the passes of a replay.
class Watcher final : public ForwardObserver, public BackwardObserver {
 public:
  Watcher(Context& ctx, Replay& replay) : ctx_(ctx), replay_(replay) {}

  /// Modules report when they are done, so an inner module precedes the module around it.
  void forwarded(const nn::Module& module, const Var&, const Var& out) override {
    const std::string name = module.path().empty()
                                 ? module.describe()
                                 : fmt::format("'{}', {}", module.path(), module.describe());
    modules_.push_back({out.id(), module.path(), name});
    // Even if it returns the output of its last module, because a fault may have been injected in
    // between.
    const std::string where = "the output of " + name;
    const Magnitude found = magnitude_of(ctx_, out.value());
    note(replay_.output, found.largest, where);
    if (!found.finite && replay_.first_output.empty()) replay_.first_output = where;
  }

  void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) override {
    const Magnitude found = magnitude_of(ctx_, gradient);
    const Module* const owner = owner_of(value);
    std::string where = "a gradient within the loss";
    if (owner != nullptr && owner->output == value)
      where = "the gradient of the output of " + owner->name;
    else if (owner != nullptr)
      where = fmt::format("a gradient within {} ({})", owner->name, operation);
    if (owner != nullptr) note(replay_.gradient, found.largest, where);  // the loss is f32
    if (found.finite || !replay_.first_gradient.empty()) return;
    replay_.first_gradient = where;
    first_ = owner;
    first_is_in_loss_ = owner == nullptr;
  }

  /// Inspects the parameters' gradients after the backward pass.
  void look_at(nn::ParamStore& params) {
    struct Bad {
      std::size_t module;  // its place in `modules_`
      std::int64_t param;
    };
    std::vector<Bad> bad;
    for (std::int64_t i = params.size(); i-- > 0;) {
      if (!params.slot(i).trainable) continue;
      const std::string& name = params.info(i).name;
      const Magnitude found = magnitude_of(ctx_, params.slot(i).grad);
      note(replay_.gradient, found.largest, fmt::format("the gradient of '{}'", name));
      if (!found.finite) bad.push_back({module_of(name), i});
    }
    std::ranges::stable_sort(bad, std::greater<>(), &Bad::module);
    for (const Bad& one : bad) replay_.parameters.push_back(params.info(one.param).name);
    if (bad.empty() || first_is_in_loss_) return;
    // A module's parameters come after the gradient that reaches it, and before the next gradient.
    const std::size_t first = bad.front().module;
    if (first_ == nullptr || first > static_cast<std::size_t>(first_ - modules_.data()))
      replay_.first_gradient =
          fmt::format("the gradient of the parameter '{}'", replay_.parameters.front());
  }

 private:
  struct Module {
    std::uint32_t output;
    std::string path;
    std::string name;
  };
  /// Returns the innermost module that produced a value; null for the loss.
  [[nodiscard]] const Module* owner_of(std::uint32_t value) const {
    const auto found = std::ranges::lower_bound(modules_, value, {}, &Module::output);
    return found == modules_.end() ? nullptr : &*found;
  }
  /// Returns the index of the module that a parameter is named after, or of the nearest enclosing
  /// one.
  [[nodiscard]] std::size_t module_of(std::string path) const {
    while (!path.empty()) {
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
      for (std::size_t i = modules_.size(); i-- > 0;)
        if (modules_[i].path == path) return i;
    }
    return 0;
  }

  Context& ctx_;
  Replay& replay_;
  std::vector<Module> modules_;  // in the order they finished, and thus by output
  const Module* first_ = nullptr;
  bool first_is_in_loss_ = false;
};

/// Saves everything that a forward and a backward pass write into a store, and restores it.
class KeepStore {
 public:
  KeepStore(Learner& learn, bool gradients) : learn_(learn), params_(learn.params()) {
    for (Tensor* const flat :
         {&params_.flat_buffers(), &params_.flat_grad(), &params_.flat_half_grad()}) {
      if (!flat->defined() || (!gradients && flat != &params_.flat_buffers())) continue;
      Tensor kept = learn.context().empty(flat->shape(), flat->dtype());
      copy(learn.context(), *flat, kept);
      kept_.push_back({flat, kept});
    }
    for (std::int64_t i = 0; i < params_.size(); ++i)
      had_grad_.push_back(params_.slot(i).has_grad());
    params_.begin_gradients();
  }
  ~KeepStore() {
    for (const auto& [flat, kept] : kept_) copy(learn_.context(), kept, *flat);
    for (std::int64_t i = 0; i < params_.size(); ++i) {
      ParamSlot& slot = params_.slot(i);
      slot.drop_grad();
      if (had_grad_[static_cast<std::size_t>(i)]) slot.adopt_grad();
    }
  }
  KeepStore(const KeepStore&) = delete;
  KeepStore& operator=(const KeepStore&) = delete;

 private:
  struct Kept {
    Tensor* flat;
    Tensor kept;
  };
  Learner& learn_;
  nn::ParamStore& params_;
  std::vector<Kept> kept_;
  std::vector<bool> had_grad_;
};

void run_backward(Learner& learn, Tape& tape, const Var& loss, const ReplayOptions& options) {
  Context& ctx = learn.context();
  nn::ParamStore& params = learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (ParamSlot& slot = params.slot(i); slot.trainable) (void)tape.param(slot);
  Tensor seed = options.seed;
  if (!seed.defined()) {
    seed = ctx.empty({1}, DType::f32);
    kernels::fill(ctx, seed, static_cast<double>(options.loss_scale));
  }
  tape.backward(loss, seed);
}

}  // namespace

std::string as_subject(const std::string& place) {
  return place.find("', ") == std::string::npos ? place : place + ",";
}

Replay replay_batch(Learner& learn, const ReplayOptions& options) {
  Context& ctx = learn.context();
  const BatchRun& batch = learn.batch();
  Replay replay;
  replay.inputs_finite = magnitude_of(ctx, batch.x).finite;
  const KeepStore keep(learn, options.backward);
  TapeOptions tape_options = learn.tape().options();
  tape_options.mode = learn.training_mode();
  tape_options.grad = options.backward;
  tape_options.batch = static_cast<std::uint64_t>(options.batch);
  tape_options.autocast = learn.autocast();
  Tape tape(ctx, tape_options);
  Watcher watcher(ctx, replay);
  tape.observe(&watcher);
  tape.observe_backward(&watcher);
  std::unique_ptr<FaultPlanter> faults;
  if (const auto* const injected = learn.find<FaultInjection>())
    faults = injected->plant_again(learn, tape, &watcher, &watcher);
  Var pred = learn.model()(tape.padded_input(batch.x, batch.padding));
  if (!options.backward) return replay;
  if (is_half(pred.dtype())) pred = ops::cast(pred, DType::f32);
  const Var loss = learn.options().loss.fn(pred, batch.loss_target());
  replay.loss = get(to_host(ctx, loss.value()), 0);
  run_backward(learn, tape, loss, options);
  watcher.look_at(learn.params());
  return replay;
}

std::vector<std::string> parameters_with_bad_gradients(Learner& learn) {
  std::vector<std::string> names;
  nn::ParamStore& params = learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (params.slot(i).trainable && !magnitude_of(learn.context(), params.master_grad(i)).finite)
      names.push_back(params.info(i).name);
  return names;
}

}  // namespace learn::callbacks
