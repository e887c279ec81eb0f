#include "framework/core/fnv1a.h"
#include "framework/core/options/suggest.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <algorithm>
#include <numeric>
#include <utility>

/// Layout of the flat buffers, and the moves between layouts.
namespace learn::nn {
namespace {

constexpr const char* kHalfCopy =
    "it is the half copy of a parameter, which the next update overwrites: write to its master "
    "(ParamStore::master) and call refresh_working";

std::int64_t aligned(std::int64_t elements) {
  return (elements + ParamStore::kAlign - 1) / ParamStore::kAlign * ParamStore::kAlign;
}

Tensor zero_filled(Context& ctx, std::int64_t elements, DType dtype) {
  Tensor tensor(ctx.persistent(), {elements}, dtype);
  kernels::fill(ctx, tensor, 0);
  return tensor;
}

}  // namespace

void ParamStore::lay_out() {
  order_.resize(infos_.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto place = [this](std::int64_t i) {
    return std::pair(group_of(info(i)), info(i).keeps_f32);
  };
  std::stable_sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) {
    return place(a) < place(b);
  });
  offsets_.resize(infos_.size());
  flat_size_ = 0;
  for (const std::int64_t i : order_) {
    offsets_[static_cast<std::size_t>(i)] = flat_size_;
    flat_size_ += aligned(info(i).shape.elements());
  }
}

bool ParamStore::has_half_copy(std::int64_t i) const {
  return half_.defined() && !info(i).keeps_f32;
}

void ParamStore::point_slots() {
  for (std::int64_t i = 0; i < size(); ++i) {
    slot(i).value = has_half_copy(i) ? view(half_, i).read_only(kHalfCopy) : view(master_, i);
    slot(i).grad = view(has_half_copy(i) ? half_grad_ : grad_, i);
    slot(i).widened = is_half(master_dtype()) && info(i).keeps_f32;
    slot(i).drop_grad();
  }
}

void ParamStore::materialize(Context& ctx, DType dtype, InitialValues values) {
  check<Error>(!materialized(), "ParamStore::materialize was already called");
  check<DTypeError>(dtype == DType::f32 || dtype == DType::f64,
                    "masters must be f32 (f64 for gradient checks), not {}: for half precision use "
                    "set_working_dtype",
                    dtype);
  ctx_ = &ctx;
  dtype_ = working_dtype_ = dtype;
  mark_f32_params();
  lay_out();
  master_ = zero_filled(ctx, flat_size_, dtype);
  grad_ = zero_filled(ctx, flat_size_, dtype);
  point_slots();
  if (values == InitialValues::drawn) initialize_values();
  make_buffers();
}

void ParamStore::initialize_values() {
  Arena host("init", cpu_pages());
  for (std::int64_t i = 0; i < size(); ++i) {
    Tensor values = full(host, info(i).shape, DType::f32, 0);
    inits_[static_cast<std::size_t>(i)](values, ctx_->seed(), fnv1a_48(info(i).name));
    Tensor destination = master(i);
    kernels::cast(*ctx_, to_device(*ctx_, ctx_->step(), values), destination);
  }
}

void ParamStore::make_buffers() {
  std::int64_t elements = 0;
  for (const Shape& shape : buffer_shapes_) elements += aligned(shape.elements());
  buffers_ = zero_filled(*ctx_, elements, dtype_);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < buffer_slots_.size(); ++i) {
    const Shape& shape = buffer_shapes_[i];
    buffer_slots_[i].value = buffers_.range(begin, shape.elements()).view(shape);
    kernels::fill(*ctx_, buffer_slots_[i].value, buffer_fills_[i]);
    begin += aligned(shape.elements());
  }
  committed_buffers_ = Tensor(ctx_->persistent(), {elements}, dtype_);
  commit_buffers();
}

void ParamStore::commit_buffers() { copy(context(), buffers_, committed_buffers_); }
void ParamStore::restore_buffers() { copy(context(), committed_buffers_, buffers_); }

void ParamStore::set_layer_groups(const std::vector<std::string>& boundaries) {
  std::vector<std::int64_t> starts;
  auto after = modules_.begin();
  for (const std::string& path : boundaries) {
    const auto is_path = [&](const ModulePlace& module) { return module.path == path; };
    const auto found = std::find_if(after, modules_.end(), is_path);
    if (found == modules_.end() && std::any_of(modules_.begin(), after, is_path))
      fail<UsageError>(
          "layer group boundary '{}' is out of order: give each module once, in model order", path);
    if (found == modules_.end())
      fail<UsageError>("layer group boundary '{}' is not a module of this model", path);
    starts.push_back(found->first_param);
    after = std::next(found);
  }
  for (std::int64_t i = 0; i < size(); ++i)
    infos_[static_cast<std::size_t>(i)].layer_group = static_cast<int>(
        std::count_if(starts.begin(), starts.end(), [i](std::int64_t s) { return s <= i; }));
  layer_groups_ = static_cast<int>(boundaries.size()) + 1;
  if (materialized()) move_flat_buffers();
}

void ParamStore::move_flat_buffers() {
  const std::vector<std::int64_t> before = offsets_;
  lay_out();
  const auto move = [&](Tensor& flat) {
    if (!flat.defined()) return;
    Tensor old(ctx_->step(), flat.shape(), flat.dtype());
    copy(*ctx_, flat, old);
    kernels::fill(*ctx_, flat, 0);  // the gaps lie elsewhere now
    for (std::int64_t i = 0; i < size(); ++i) {
      const std::int64_t count = info(i).shape.elements();
      Tensor destination = flat.range(offset(i), count);
      copy(*ctx_, old.range(before[static_cast<std::size_t>(i)], count), destination);
    }
  };
  for (Tensor* flat : {&master_, &grad_, &half_, &half_grad_}) move(*flat);
  for (auto& [name, state] : states_) move(state.values);
  point_slots();
}

void ParamStore::mark_f32_params() {
  const auto is_in = [](std::string_view param, std::string_view module) {
    return module.empty() || (param.size() > module.size() && param.starts_with(module) &&
                              param[module.size()] == '.');
  };
  for (ParamInfo& info : infos_)
    info.keeps_f32 = is_f32(info.role) ||
                     std::any_of(modules_.begin(), modules_.end(), [&](const ModulePlace& module) {
                       return module.in_f32 && is_in(info.name, module.path);
                     });
}

void ParamStore::keep_f32(const std::vector<std::string>& names) {
  const auto has = [](const ModulePlace& place, const std::string& name) {
    return place.path == name || (place.module != nullptr && type_of(*place.module) == name);
  };
  for (const std::string& name : names) {
    if (std::any_of(modules_.begin(), modules_.end(), [&](const auto& m) { return has(m, name); }))
      continue;
    std::vector<std::string> known;
    for (const ModulePlace& place : modules_) {
      known.push_back(place.path);
      if (place.module != nullptr) known.push_back(type_of(*place.module));
    }
    fail<UsageError>(
        "this model has no module with the path or type '{}'{}", name, did_you_mean(name, known));
  }
  for (ModulePlace& place : modules_)
    place.in_f32 =
        place.declared_f32 ||
        std::any_of(names.begin(), names.end(), [&](const auto& name) { return has(place, name); });
  if (!materialized()) return;
  const auto kept = [this] {
    std::vector<bool> of_each;
    for (const ParamInfo& info : infos_) of_each.push_back(info.keeps_f32);
    return of_each;
  };
  const std::vector<bool> before = kept();
  mark_f32_params();
  if (kept() != before) move_flat_buffers();
  refresh_working();
}

void ParamStore::set_working_dtype(DType dtype, Masters masters) {
  Context& ctx = context();
  check<DTypeError>(dtype_ == DType::f32 && (dtype == DType::f32 || is_half(dtype)),
                    "a store with {} masters cannot work in {}: f32 masters work in f32, f16, bf16",
                    dtype_,
                    dtype);
  const DType stored = masters == Masters::none ? dtype : DType::f32;
  if (dtype == working_dtype_ && stored == master_dtype()) return;
  working_dtype_ = dtype;
  half_ = half_grad_ = Tensor();
  store_in(stored);
  if (dtype != stored) {
    half_ = zero_filled(ctx, flat_size_, dtype);
    half_grad_ = zero_filled(ctx, flat_size_, dtype);
  }
  point_slots();
  refresh_working();
}

void ParamStore::store_in(DType dtype) {
  const auto convert = [&](Tensor& flat) {
    if (flat.dtype() == dtype) return;
    Tensor converted(ctx_->persistent(), flat.shape(), dtype);
    kernels::cast(*ctx_, flat, converted);
    flat = converted;
  };
  convert(master_);
  convert(grad_);
  for (auto& [name, state] : states_)
    if (!state.keeps_f32) convert(state.values);
}

void ParamStore::refresh_working() {
  for (std::int64_t i = 0; i < size(); ++i) {
    if (!has_half_copy(i)) continue;
    Tensor half = view(half_, i);
    kernels::cast(*ctx_, master(i), half);
  }
}

template <class Wanted>
std::vector<Segment> ParamStore::segments_of(int group, bool per_parameter, Wanted wanted) const {
  check<Error>(group >= 0 && group < groups(),
               "parameter group {} does not exist: there are {}",
               group,
               groups());
  std::vector<Segment> found;
  for (const std::int64_t i : order_) {
    if (group_of(info(i)) != group || !slot(i).trainable || !wanted(i)) continue;
    const Segment next{
        .begin = offset(i), .count = aligned(info(i).shape.elements()), .first_param = i};
    if (!per_parameter && !found.empty() && found.back().begin + found.back().count == next.begin)
      found.back().count += next.count;
    else
      found.push_back(next);
  }
  return found;
}

std::vector<Segment> ParamStore::segments(int group, bool per_parameter) const {
  return segments_of(group, per_parameter, [](std::int64_t) { return true; });
}

std::vector<Segment> ParamStore::half_segments(int group, bool per_parameter) const {
  return segments_of(group, per_parameter, [this](std::int64_t i) { return has_half_copy(i); });
}

std::vector<Segment> ParamStore::full_segments(int group, bool per_parameter) const {
  return segments_of(group, per_parameter, [this](std::int64_t i) { return !has_half_copy(i); });
}

Tensor& ParamStore::state(const std::string& name, bool keeps_f32) {
  Context& ctx = context();
  const auto [at, fresh] = states_.try_emplace(name, State{.keeps_f32 = keeps_f32});
  if (!fresh) return at->second.values;
  const DType dtype = is_half(master_dtype()) && !keeps_f32 ? master_dtype() : DType::f32;
  return at->second.values = zero_filled(ctx, flat_size_, dtype);
}

}  // namespace learn::nn
