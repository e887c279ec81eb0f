#include "callbacks/report/tensorboard_values.h"

#include "framework/drawing/png.h"
#include "framework/kernels/cast/cast.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <utility>

namespace learn::callbacks {
namespace {

namespace tb = tensorboard;

/// Numbers under names with a common prefix.
class Numbers {
 public:
  explicit Numbers(std::string_view prefix) : prefix_(prefix) {}
  template <class T>
  void add(std::string_view name, T value) {
    values_.push_back({fmt::format("{}/{}", prefix_, name), static_cast<float>(value)});
  }
  [[nodiscard]] std::vector<tb::Value> take() { return std::move(values_); }

 private:
  std::string_view prefix_;
  std::vector<tb::Value> values_;
};

/// Histograms of tensors of one kind.
class Histograms {
 public:
  Histograms(Context& ctx, std::string kind) : ctx_(ctx), kind_(std::move(kind)) {}

  void add(const std::string& name, const Tensor& tensor) {
    const tb::Histogram histogram = tb::histogram(on_host(tensor).span<float>());
    not_finite_ += histogram.not_finite;
    if (histogram.not_finite > 0) add_not_finite(kind_ + "/" + name, histogram.not_finite);
    if (histogram.finite > 0) values_.push_back({kind_ + "/" + name, histogram});
  }
  [[nodiscard]] std::vector<tb::Value> take() {
    add_not_finite(kind_, not_finite_);
    return std::move(values_);
  }

 private:
  [[nodiscard]] Tensor on_host(const Tensor& tensor) {
    if (tensor.dtype() == DType::f32) return to_host(ctx_, tensor);
    Tensor full = ctx_.empty(tensor.shape(), DType::f32);
    kernels::cast(ctx_, tensor, full);
    return to_host(ctx_, full);
  }
  void add_not_finite(const std::string& of, std::int64_t count) {
    values_.push_back({"not_finite/" + of, static_cast<float>(count)});
  }

  Context& ctx_;
  std::string kind_;
  std::int64_t not_finite_ = 0;
  std::vector<tb::Value> values_;
};

}  // namespace

std::vector<tb::Value> values_of(const BatchRecord& batch) {
  Numbers numbers("train");
  numbers.add("loss", batch.loss);
  numbers.add("smooth_loss", batch.smooth_loss);
  numbers.add("lr", batch.lr);
  numbers.add("momentum", batch.momentum);
  numbers.add("loss_scale", batch.loss_scale);
  numbers.add("skipped", batch.skipped);
  if (!std::isnan(batch.grad_norm)) numbers.add("grad_norm", batch.grad_norm);
  if (!std::isnan(batch.update_ratio)) numbers.add("update_ratio", batch.update_ratio);
  return numbers.take();
}

std::vector<tb::Value> values_of(const EpochRecord& epoch, bool validated) {
  Numbers numbers("epoch");
  numbers.add("train_loss", epoch.train_loss);
  if (validated) numbers.add("valid_loss", epoch.valid_loss);
  for (const auto& [name, value] : epoch.metrics) numbers.add(name, value);
  numbers.add("lr", epoch.lr);
  numbers.add("skipped", epoch.skipped);
  numbers.add("loss_scale", epoch.loss_scale);
  numbers.add("seconds", epoch.seconds);
  numbers.add("samples_per_second", epoch.samples_per_second);
  return numbers.take();
}

std::vector<tb::Value> weight_histograms(Learner& learn) {
  const nn::ParamStore& params = learn.params();
  Histograms histograms(learn.context(), "weights");
  for (std::int64_t i = 0; i < params.size(); ++i)
    histograms.add(params.info(i).name, params.master(i));
  return histograms.take();
}

std::vector<tb::Value> gradient_histograms(Learner& learn) {
  const nn::ParamStore& params = learn.params();
  Histograms histograms(learn.context(), "gradients");
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (params.slot(i).trainable) histograms.add(params.info(i).name, params.master_grad(i));
  return histograms.take();
}

tb::PngImage encoded(const plot::ImageGrid& grid) {
  const plot::Image image = plot::image_grid(grid).render();
  return {image.width, image.height, encode_png(image.width, image.height, image.rgb)};
}

std::string code_block(const std::string& text) {
  std::string block;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) block += "    " + line + '\n';
  return block;
}

}  // namespace learn::callbacks
