#include "framework/autograd/tape.h"

#include "framework/autograd/ops.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/runtime/transfer.h"

namespace learn {

void Var::check_alive() const {
  check<Error>(content_ != nullptr, "this Var has no value");
  check<Error>(!content_->dead,
               "a Var was used after its tape was reset or destroyed: its value lives for one "
               "step; copy it to keep it");
}

const Tensor& Var::value() const& {
  check_alive();
  if (content_->deferred != nullptr) {
    content_->value = content_->deferred->compute();
    content_->deferred.reset();
  }
  return content_->value;
}

const Shape& Var::shape() const& {
  check_alive();
  return content_->deferred != nullptr ? content_->deferred->shape() : content_->value.shape();
}

DType Var::dtype() const {
  check_alive();
  return content_->deferred != nullptr ? content_->deferred->dtype() : content_->value.dtype();
}

const Deferred* Var::deferred() const {
  check_alive();
  return content_->deferred.get();
}

std::int64_t Var::padding() const {
  check_alive();
  return content_->padding;
}

bool Var::needs_grad() const { return tape().at(*this).needs_grad; }

Tape& Var::tape() const {
  check_alive();
  return *tape_;
}

Tape::Tape(Context& ctx, const TapeOptions& options) : ctx_(ctx) { reset(options); }

Tape::~Tape() { forget_values(); }

const Tape::Value& Tape::at(const Var& v) const {
  v.check_alive();
  check<Error>(v.tape_ == this,
               "a Var of another tape was used: all inputs of an operation share one tape");
  return values_[v.id_];
}

Tape::Value& Tape::at(const Var& v) { return const_cast<Value&>(std::as_const(*this).at(v)); }

Var Tape::push(Tensor data, Value value) {
  auto content = std::make_shared<Var::Content>(Var::Content{std::move(data)});
  value.content = content;
  value.shape = content->value.shape();
  value.dtype = content->value.dtype();
  values_.push_back(std::move(value));
  return {*this, static_cast<std::uint32_t>(values_.size() - 1), std::move(content)};
}

Var Tape::defer(std::unique_ptr<const Deferred> value) {
  check<Error>(!options_.grad, "a tape that records a backward pass needs each value immediately");
  auto content = std::make_shared<Var::Content>(Var::Content{{}, std::move(value)});
  values_.push_back({.content = content,
                     .shape = content->deferred->shape(),
                     .dtype = content->deferred->dtype()});
  return {*this, static_cast<std::uint32_t>(values_.size() - 1), std::move(content)};
}

Var Tape::input(Tensor value, bool needs_grad) {
  return push(std::move(value), {.needs_grad = needs_grad && options_.grad, .leaf = true});
}

Var Tape::padded_input(Tensor value, std::int64_t padding) {
  check(padding == 0 || (padding > 0 && value.shape().rank() > 0 && padding < value.shape()[-1]),
        "a padding of {} channels does not fit {}",
        padding,
        value.shape());
  Var x = input(std::move(value));
  set_padding(x, padding);
  return x;
}

void Tape::set_padding(const Var& v, std::int64_t padding) {
  v.check_alive();
  v.content_->padding = padding;
}

void Tape::set_autocast(const std::optional<DType>& dtype) {
  check_autocast(dtype);
  options_.autocast = dtype;
}

void Tape::check_autocast(const std::optional<DType>& dtype) {
  check<DTypeError>(!dtype || is_half(*dtype),
                    "autocast: the type must be f16 or bf16, not {}",
                    dtype.value_or(DType::f32));
}

Var Tape::cast_once(const Var& v, DType dtype) {
  const ParamSlot* const param = at(v).param;
  if (param == nullptr) return ops::cast(v, dtype);
  Var& known = cast_params_[param];
  if (!known.defined() || known.dtype() != dtype) known = ops::cast(v, dtype);
  return known;
}

Var Tape::param(ParamSlot& slot) {
  Var leaf = leaf_of(slot);
  return slot.widened ? cast_once(leaf, DType::f32) : leaf;
}

Var Tape::leaf_of(ParamSlot& slot) {
  check<Error>(slot.value.defined(),
               "parameter '{}' has no memory yet: call ParamStore::materialize first",
               slot.name);
  if (const auto found = leaves_.find(&slot); found != leaves_.end()) {
    Value& known = values_[found->second];
    std::shared_ptr<Var::Content> content = known.content.lock();
    if (content == nullptr) {
      content = std::make_shared<Var::Content>(Var::Content{slot.value});
      known.content = content;
    }
    return {*this, found->second, std::move(content)};
  }
  Var leaf = push(slot.value,
                  {.param = &slot, .needs_grad = options_.grad && slot.trainable, .leaf = true});
  leaves_.emplace(&slot, leaf.id_);
  return leaf;
}

Var Tape::record_node(std::vector<Var> inputs,
                      Tensor value,
                      FunctionRef<std::unique_ptr<Node>()> make) {
  bool needed = false;
  for (const Var& in : inputs) needed = at(in).needs_grad || needed;
  Var out = push(std::move(value), {.needs_grad = needed});
  if (needed || observer_ != nullptr) {
    std::unique_ptr<Node> node = make();
    if (observer_ != nullptr) observer_->recorded(*node, inputs, out);
    if (!needed) return out;
    const auto reader = static_cast<std::uint32_t>(records_.size());
    for (const Var& in : inputs)
      if (Value& leaf = at(in); leaf.param != nullptr && leaf.first_reader == kNone)
        leaf.first_reader = reader;
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
  check<Error>(root.needs_grad, "backward: the loss does not depend on any trained parameter");
  check(root.shape.elements() == 1,
        "backward: the loss must have one element, it has shape {}",
        root.shape);
  backward_done_ = true;
  if (seed.defined()) {
    pass_on(loss, seed);
  } else {
    Tensor one = ctx_.empty(root.shape, root.dtype);
    kernels::fill(ctx_, one, 1);
    pass_on(loss, one);
  }
  for (Value& value : values_)
    if (value.param != nullptr && value.first_reader == kNone) complete(value);
  for (std::size_t i = records_.size(); i-- > 0;) {
    Record& record = records_[i];
    Value& output = values_[record.output];
    if (output.written && backward_observer_ != nullptr)
      backward_observer_->reached(record.output, record.node->name(), output.grad);
    if (output.written) record.node->backward(*this, output.grad);
    for (const Var& in : record.node->inputs_)
      if (Value& value = values_[in.id_]; value.first_reader == i) complete(value);
    record.node.reset();
    if (!output.leaf) output.grad = {};
  }
}

void Tape::complete(Value& leaf) {
  if (!leaf.needs_grad || leaf.complete) return;
  leaf.complete = true;
  if (!leaf.param->has_grad()) {
    kernels::fill(ctx_, leaf.param->grad, 0);
    leaf.param->adopt_grad();
  }
  if (gradient_observer_ != nullptr) gradient_observer_->complete(*leaf.param);
}

void Tape::accumulate(const Var& v, FunctionRef<void(Tensor&, GradMode)> kernel) {
  Value& value = at(v);
  if (!value.needs_grad) return;
  if (value.param != nullptr) {
    ParamSlot& slot = *value.param;
    check<Error>(!value.complete,
                 "the gradient of '{}' was complete when an operation added to it: an operation "
                 "must have all parameters that it uses among its inputs",
                 slot.name);
    kernel(slot.grad, slot.has_grad() ? GradMode::accumulate : GradMode::overwrite);
    slot.adopt_grad();
    return;
  }
  const GradMode mode = value.written ? GradMode::accumulate : GradMode::overwrite;
  if (!value.written)
    value.grad = ctx_.empty(value.shape, value.dtype);
  else if (value.handed_over && value.grad.shared())
    value.grad = copied(value.grad);
  value.handed_over = false;  // requesting its place twice returns the same place twice
  value.written = true;
  kernel(value.grad, mode);
}

void Tape::pass_on(const Var& v, const Tensor& dy) {
  if (hand_over(v, dy)) return;
  accumulate(
      v, [&](Tensor& dx, GradMode mode) { kernels::cast(ctx_, dy.view(dx.shape()), dx, mode); });
}

bool Tape::hand_over(const Var& v, const Tensor& dy) {
  Value& value = at(v);
  // The gradient of a leaf belongs to its owner, which may write to it.
  if (!value.needs_grad || value.leaf || value.written || dy.dtype() != value.dtype) return false;
  value.grad = dy.view(value.shape);
  value.handed_over = true;
  value.written = true;
  return true;
}

Tensor Tape::copied(const Tensor& gradient) {
  Tensor own = ctx_.empty(gradient.shape(), gradient.dtype());
  copy(ctx_, gradient, own);
  return own;
}

Tensor Tape::grad_of(const Var& v) const { return at(v).grad; }

void Tape::forget_values() {
  // Handles may outlive the values: they must neither hold memory nor reach into this tape.
  cast_params_.clear();
  for (const Value& value : values_)
    if (const auto content = value.content.lock())
      *content = {.value = {}, .deferred = {}, .dead = true};
  records_.clear();
  values_.clear();
  leaves_.clear();
}

void Tape::reset(const TapeOptions& options) {
  set_autocast(options.autocast);
  forget_values();
  options_ = options;
  random_streams_ = 0;
  backward_done_ = false;
}

const Tensor& Tape::batch_index() {
  if (!batch_index_.defined()) batch_index_ = Tensor(ctx_.persistent(), {1}, DType::i64);
  set_batch_index(options_.batch);
  return batch_index_;
}

void Tape::set_batch_index(std::uint64_t batch) {
  if (!batch_index_.defined() || known_batch_index_ == batch) return;
  kernels::fill(ctx_, batch_index_, static_cast<double>(batch));
  known_batch_index_ = batch;
}

}  // namespace learn
