#include "framework/autograd/tape.h"

#include "framework/backend/cast.h"
#include "framework/backend/fill.h"

namespace learn {

const Tensor& Var::value() const { return tape().at(*this).data; }

bool Var::needs_grad() const { return tape().at(*this).needs_grad; }

Tape& Var::tape() const {
  check<Error>(tape_ != nullptr, "this Var was never given a value");
  return *tape_;
}

Tape::Tape(Context& ctx, const TapeOptions& options) : ctx_(ctx), options_(options) {}

const Tape::Value& Tape::at(const Var& v) const {
  check<Error>(v.tape_ == this,
               "a Var of another tape was used: all inputs of an operation share one tape");
  check<Error>(
      v.generation_ == generation_,
      "a Var was used after its tape was reset: values live for one step, copy what must stay");
  return values_[v.id_];
}

Tape::Value& Tape::at(const Var& v) { return const_cast<Value&>(std::as_const(*this).at(v)); }

Var Tape::push(Value value) {
  values_.push_back(std::move(value));
  return {*this, static_cast<std::uint32_t>(values_.size() - 1), generation_};
}

Var Tape::input(Tensor value, bool needs_grad) {
  return push({.data = std::move(value), .needs_grad = needs_grad && options_.grad, .leaf = true});
}

Var Tape::param(ParamSlot& slot) {
  check<Error>(slot.value.defined(),
               "parameter '{}' has no memory yet: call ParamStore::materialize first",
               slot.name);
  if (const auto found = leaves_.find(&slot); found != leaves_.end())
    return {*this, found->second, generation_};
  const Var leaf = push({.data = slot.value,
                         .param = &slot,
                         .needs_grad = options_.grad && slot.trainable,
                         .leaf = true});
  leaves_.emplace(&slot, leaf.id_);
  return leaf;
}

Var Tape::record_node(std::vector<Var> inputs,
                      Tensor value,
                      FunctionRef<std::unique_ptr<Node>()> make) {
  bool needed = false;
  for (const Var& in : inputs) needed = at(in).needs_grad || needed;
  const Var out = push({.data = std::move(value), .needs_grad = needed});
  if (needed) {
    std::unique_ptr<Node> node = make();
    node->inputs_ = std::move(inputs);
    records_.push_back({std::move(node), out.id_});
  }
  return out;
}

void Tape::backward(const Var& loss, const Tensor& seed) {
  check<Error>(!backward_done_,
               "backward was already run on this tape: its saved values are gone; record a new "
               "forward pass");
  Value& root = at(loss);
  check<Error>(root.needs_grad, "backward: the loss depends on no parameter that is trained");
  check(root.data.elements() == 1,
        "backward: the loss must have one element, it has shape {}",
        root.data.shape());
  backward_done_ = true;
  root.grad = ctx_.empty(root.data.shape(), root.data.dtype());
  if (seed.defined())
    backend::cast(ctx_, seed.view(root.data.shape()), root.grad);
  else
    backend::fill(ctx_, root.grad, 1);
  root.written = true;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    Value& output = values_[record->output];
    if (output.written) record->node->backward(*this, output.grad);
    record->node.reset();
    if (!output.leaf) output.grad = {};
  }
  for (const auto& [slot, id] : leaves_) {
    Value& leaf = values_[id];
    if (!leaf.needs_grad || leaf.param->grad_written) continue;
    backend::fill(ctx_, leaf.param->grad, 0);
    leaf.param->grad_written = true;
  }
}

void Tape::accumulate(const Var& v, FunctionRef<void(Tensor&, GradMode)> kernel) {
  Value& value = at(v);
  if (!value.needs_grad) return;
  if (value.param != nullptr) {
    ParamSlot& slot = *value.param;
    kernel(slot.grad, slot.grad_written ? GradMode::accumulate : GradMode::overwrite);
    slot.grad_written = true;
    return;
  }
  const GradMode mode = value.written ? GradMode::accumulate : GradMode::overwrite;
  if (!value.written) value.grad = ctx_.empty(value.data.shape(), value.data.dtype());
  value.written = true;
  kernel(value.grad, mode);
}

Tensor Tape::grad_of(const Var& v) const { return at(v).grad; }

void Tape::reset(const TapeOptions& options) {
  options_ = options;
  records_.clear();
  values_.clear();
  leaves_.clear();
  ++generation_;
  random_streams_ = 0;
  backward_done_ = false;
}

}  // namespace learn
