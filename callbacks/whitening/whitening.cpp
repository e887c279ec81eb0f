#include "callbacks/whitening/whitening.h"

#include "callbacks/kept_batches.h"
#include "callbacks/registry.h"
#include "callbacks/whitening/filters.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <utility>

namespace learn::callbacks {
namespace {

/// The index of the layer's weight, or -1.
std::int64_t weight_of(const nn::ParamStore& params, const std::string& layer) {
  if (!layer.empty()) return params.find(layer + ".weight");
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (params.info(i).shape.rank() == 4 && params.info(i).name.ends_with(".weight")) return i;
  return -1;
}

PatchMoments patches_of(Learner& learn, const Shape& weight, std::int64_t samples) {
  Context& ctx = learn.context();
  BatchSource& source = learn.train_source();
  const std::int64_t in_pass = std::max<std::int64_t>(1, source.batches());
  const std::int64_t size = std::max<std::int64_t>(1, source.samples() / in_pass);
  const std::int64_t count = std::min(in_pass, (samples + size - 1) / size);
  KeptBatches kept(ctx, source, learn.progress().epoch_clock, count);
  PatchMoments patches(weight[1], weight[2], weight[3]);
  kept.begin(learn.progress().epoch_clock);
  for (Batch batch; samples > 0 && kept.next(batch);) {
    Tensor wide = ctx.empty(batch.x.shape(), DType::f32);
    kernels::cast(ctx, batch.x, wide);
    samples -= patches.add(to_host(ctx, wide), samples);
  }
  return patches;
}

}  // namespace

Whitening::Whitening(WhiteningOptions options) : options_(std::move(options)) {
  check<UsageError>(options_.samples >= 1 && options_.eps > 0 && options_.bias_epochs >= 0,
                    "whitening: {} samples, eps {} and {} epochs of the bias; there must be at "
                    "least 1 sample, eps must be above 0, and the last not negative",
                    options_.samples,
                    options_.eps,
                    options_.bias_epochs);
}

void Whitening::attached(Learner& learn) {
  nn::ParamStore& params = learn.params();
  weight_ = weight_of(params, options_.layer);
  check<UsageError>(weight_ >= 0 && params.info(weight_).shape.rank() == 4,
                    "whitening: the model has no convolution {}",
                    options_.layer.empty() ? "" : "'" + options_.layer + "'");
  const auto& [name, shape, role, group, keeps, fixed] = params.info(weight_);
  const std::int64_t wanted = 2 * shape[1] * shape[2] * shape[3];
  check<UsageError>(
      shape[0] == wanted,
      "whitening: '{}' has {} filters; windows of {}x{} with {} channels need {}: two "
      "for each value",
      name,
      shape[0],
      shape[1],
      shape[2],
      shape[3],
      wanted);
  const std::string layer = name.substr(0, name.size() - std::string_view("weight").size());
  bias_ = params.find(layer + "bias");
  params.fix(name);
}

void Whitening::train_begin(Learner& learn) {
  if (learn.progress().batch_clock > 0) return;
  Context& ctx = learn.context();
  nn::ParamStore& params = learn.params();
  const Shape shape = params.info(weight_).shape;
  const PatchMoments patches = patches_of(learn, shape, options_.samples);
  Tensor weight = params.master(weight_);
  const Tensor filters = to_device(
      ctx, ctx.step(), host_tensor<float>(shape, whitening_filters(patches, options_.eps)));
  kernels::cast(ctx, filters, weight);
  if (bias_ >= 0) {
    Tensor bias = params.master(bias_);
    kernels::fill(ctx, bias, 0);
  }
  params.refresh_working();
}

void Whitening::epoch_begin(Learner& learn) {
  if (bias_ >= 0 && learn.progress().epoch_clock >= options_.bias_epochs)
    learn.params().slot(bias_).trainable = false;
}

void register_whitening(CallbackRegistry& registry) {
  registry.add(
      "whitening",
      "makes the first convolution whiten the images (airbench)",
      WhiteningOptions{},
      [](OptionTable& t, WhiteningOptions& o) {
        t.text("layer", o.layer, "PATH", "the convolution").when_absent = "the first one";
        t.number("samples", o.samples, kCount, "N", "training images that are measured");
        t.number("eps", o.eps, kPositive, "X", "added to the variances");
        t.number("bias_epochs",
                 o.bias_epochs,
                 kNotNegative,
                 "N",
                 "epochs in which the bias of the layer is trained");
      },
      [](const WhiteningOptions& o, const RunSettings&) {
        return make_callback<Whitening>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
