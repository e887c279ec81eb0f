#include "framework/nn/param_store.h"

#include "framework/kernels/cast/cast.h"

#include <algorithm>
#include <utility>

namespace learn::nn {

ParamStore::ParamStore() = default;
ParamStore::~ParamStore() = default;

Param ParamStore::declare(std::string name, const Shape& shape, ParamRole role, Init init) {
  check<Error>(!materialized(),
               "parameter '{}' was declared after ParamStore::materialize: build the whole model "
               "first",
               name);
  check<Error>(find(name) < 0, "parameter '{}' is declared twice", name);
  check(shape.elements() > 0, "parameter '{}' has no elements: its shape is {}", name, shape);
  check<Error>(init != nullptr, "parameter '{}' was declared without an init", name);
  index_.emplace(name, size());
  infos_.push_back({.name = name, .shape = shape, .role = role});
  inits_.push_back(std::move(init));
  slots_.emplace_back().name = std::move(name);
  return &slots_.back();
}

void ParamStore::fix(std::string_view name) {
  const std::int64_t i = find(name);
  check<UsageError>(i >= 0, "the model has no parameter '{}' to fix", name);
  infos_[static_cast<std::size_t>(i)].fixed = true;
  slot(i).trainable = false;
}

Buffer ParamStore::declare_buffer(std::string name, const Shape& shape, double fill) {
  check<Error>(!materialized(),
               "buffer '{}' was declared after ParamStore::materialize: build the whole model "
               "first",
               name);
  const bool taken = std::any_of(
      buffer_slots_.begin(), buffer_slots_.end(), [&](const auto& b) { return b.name == name; });
  check<Error>(!taken && find(name) < 0, "buffer '{}' is declared twice", name);
  check(shape.elements() > 0, "buffer '{}' has no elements: its shape is {}", name, shape);
  buffer_shapes_.push_back(shape);
  buffer_fills_.push_back(fill);
  return &buffer_slots_.emplace_back(BufferSlot{.name = std::move(name)});
}

const ModulePlace& ParamStore::mark_module(std::string path, const Module* module, bool in_f32) {
  return modules_.emplace_back(ModulePlace{.path = std::move(path),
                                           .module = module,
                                           .first_param = size(),
                                           .declared_f32 = in_f32,
                                           .in_f32 = in_f32});
}

std::vector<std::string> ParamStore::module_paths() const {
  std::vector<std::string> paths;
  for (const ModulePlace& module : modules_)
    if (std::find(paths.begin(), paths.end(), module.path) == paths.end())
      paths.push_back(module.path);
  return paths;
}

Context& ParamStore::context() const {
  check<Error>(materialized(), "the parameters have no memory yet: call ParamStore::materialize");
  return *ctx_;
}

std::int64_t ParamStore::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

std::int64_t ParamStore::parameter_count() const {
  std::int64_t count = 0;
  for (const ParamInfo& info : infos_) count += info.shape.elements();
  return count;
}

std::int64_t ParamStore::trainable_count() const {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < size(); ++i)
    if (slot(i).trainable) count += info(i).shape.elements();
  return count;
}

Tensor ParamStore::view(const Tensor& flat, std::int64_t i) const {
  check<Error>(flat.defined(), "parameter '{}' has no buffer of this kind", info(i).name);
  const Shape& shape = info(i).shape;
  return flat.range(offset(i), shape.elements()).view(shape);
}

Tensor ParamStore::master(std::int64_t i) const { return view(master_, i); }
Tensor ParamStore::master_grad(std::int64_t i) const { return view(grad_, i); }

void ParamStore::freeze_to(int first, bool train_bn) {
  const int from = first < 0 ? first + layer_groups_ : first;
  if (from < 0 || from >= layer_groups_)
    fail<UsageError>("freeze_to({}): the model has {} layer groups, so {} to {} are possible",
                     first,
                     layer_groups_,
                     -layer_groups_,
                     layer_groups_ - 1);
  for (std::int64_t i = 0; i < size(); ++i)
    slot(i).trainable =
        !info(i).fixed && (info(i).layer_group >= from || (train_bn && is_norm(info(i).role)));
}

void ParamStore::begin_gradients() {
  for (ParamSlot& slot : slots_) slot.drop_grad();
}

void ParamStore::drop_half_gradients() {
  for (ParamSlot& slot : slots_)
    if (is_half(slot.grad.dtype())) slot.drop_grad();
}

void ParamStore::visit_flat(StateVisitor& visitor, const Tensor& flat) {
  for (std::int64_t i = 0; i < size(); ++i) {
    Tensor part = view(flat, i);
    if (!is_half(part.dtype())) {
      visitor.visit(info(i).name, part);
      continue;
    }
    Tensor wide = ctx_->empty(part.shape(), DType::f32);
    kernels::cast(*ctx_, part, wide);
    visitor.visit(info(i).name, wide);
    if (visitor.loading()) kernels::cast(*ctx_, wide, part);
  }
}

void ParamStore::visit_state(StateVisitor& visitor) {
  check<Error>(materialized(), "the parameters have no memory yet: call ParamStore::materialize");
  {
    const StateVisitor::Scope named(visitor, "params");
    visit_flat(visitor, master_);
  }
  {
    const StateVisitor::Scope named(visitor, "buffers");
    for (BufferSlot& slot : buffer_slots_) visitor.visit(slot.name, slot.value);
  }
  for (const auto& [name, state] : states_) {
    const StateVisitor::Scope named(visitor, name);
    visit_flat(visitor, state.values);
  }
  if (!visitor.loading()) return;
  refresh_working();
  commit_buffers();
}

}  // namespace learn::nn
