#include "framework/optim/gradients.h"

#include "framework/kernels/cast/fill.h"
#include "framework/kernels/step/gradients.h"

#include <vector>

namespace learn::optim {
namespace {

/// Views of the trained runs of all groups in a flat buffer.
std::vector<Tensor> views(nn::ParamStore& store,
                          const Tensor& flat,
                          std::vector<nn::Segment> (nn::ParamStore::*segments)(int, bool) const) {
  std::vector<Tensor> found;
  for (int group = 0; group < store.groups(); ++group)
    for (const nn::Segment& s : (store.*segments)(group, false))
      found.push_back(flat.range(s.begin, s.count));
  return found;
}

}  // namespace

void unscale_half_gradients(nn::ParamStore& store,
                            DeviceArray<StepControl>& control,
                            GradMode mode) {
  const auto half = views(store, store.flat_half_grad(), &nn::ParamStore::half_segments);
  auto full = views(store, store.flat_grad(), &nn::ParamStore::half_segments);
  for (std::size_t i = 0; i < half.size(); ++i)
    kernels::unscale_to_master_grads(store.context(), half[i], full[i], control, mode);
  store.drop_half_gradients();
}

void unscale_full_gradients(nn::ParamStore& store, DeviceArray<StepControl>& control) {
  for (Tensor& grads : views(store, store.flat_grad(), &nn::ParamStore::full_segments))
    kernels::unscale_grads(store.context(), grads, control);
}

void find_non_finite_gradients(nn::ParamStore& store, DeviceArray<StepControl>& control) {
  for (const Tensor& g : views(store, store.flat_half_grad(), &nn::ParamStore::half_segments))
    kernels::find_non_finite(store.context(), g, control);
  for (const Tensor& g : views(store, store.flat_grad(), &nn::ParamStore::full_segments))
    kernels::find_non_finite(store.context(), g, control);
}

void zero_missing_gradients(nn::ParamStore& store) {
  for (std::int64_t i = 0; i < store.size(); ++i) {
    ParamSlot& slot = store.slot(i);
    if (!slot.trainable || slot.has_grad()) continue;
    kernels::fill(store.context(), slot.grad, 0);
    slot.adopt_grad();
  }
}

void gradient_norm(nn::ParamStore& store, Tensor& norm) {
  kernels::l2_norm(
      store.context(), views(store, store.flat_grad(), &nn::ParamStore::segments), norm);
}

void clip_gradient_norm(nn::ParamStore& store,
                        float max_norm,
                        Tensor& norm,
                        DeviceArray<StepControl>& control) {
  kernels::clip_by_norm(store.context(),
                        views(store, store.flat_grad(), &nn::ParamStore::segments),
                        max_norm,
                        norm,
                        control);
}

void clip_gradient_value(nn::ParamStore& store,
                         float limit,
                         const DeviceArray<StepControl>& control) {
  for (Tensor& grads : views(store, store.flat_grad(), &nn::ParamStore::segments))
    kernels::clip_by_value(store.context(), grads, limit, control);
}

}  // namespace learn::optim
