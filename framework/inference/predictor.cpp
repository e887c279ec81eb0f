#include "framework/inference/predictor.h"

#include "data/images/resize.h"
#include "framework/autograd/tape.h"
#include "framework/core/error.h"
#include "framework/evaluation/probabilities.h"
#include "framework/kernels/cast/cast.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace learn {
std::vector<int> Prediction::top(int count) const {
  std::vector<int> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  const auto more = [&](int a, int b) {
    return probabilities[static_cast<std::size_t>(a)] > probabilities[static_cast<std::size_t>(b)];
  };
  std::ranges::stable_sort(order, more);
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(count, 0))));
  return order;
}

std::vector<int> Prediction::labels(double threshold) const {
  const auto there = [&](float p) { return double{p} > threshold; };
  return top(static_cast<int>(std::ranges::count_if(probabilities, there)));
}

bool Prediction::valid() const {
  return std::ranges::none_of(probabilities, [](float p) { return std::isnan(p); }) &&
         std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

struct Predictor::State {
  std::unique_ptr<Context> ctx;
  nn::Model model;
  SavedModel description;
  PredictorOptions options;
  data::Pipeline pipeline;
  data::Pipeline::Scratch scratch{};
  std::mutex turn{};

  [[nodiscard]] Tensor normalized(std::span<const data::Image> images);
  [[nodiscard]] Tensor logits(const Tensor& x, const std::optional<nn::TestViews>& views = {});
  [[nodiscard]] Tensor cast_to(DType dtype, const Tensor& x);
  [[nodiscard]] Prediction decode(std::vector<float> said) const;
  [[nodiscard]] Tensor normalized(std::span<const float> features);
  /// Predicts normalized samples.
  void predict(const Tensor& x, std::vector<Prediction>& out);
};

Tensor Predictor::State::normalized(std::span<const data::Image> images) {
  const auto [height, width] = description.input;
  const std::int64_t channels = description.channels;
  if (height == 0) fail<UsageError>("predict: '{}' takes features, not images", description.model);
  Tensor x =
      host_tensor({static_cast<std::int64_t>(images.size()), height, width, channels}, DType::f32);
  float* out = x.span<float>().data();
  for (const data::Image& image : images) {
    if (image.channels != channels)
      fail<DataError>(
          "predict: an image of {} channels; the model takes {}", image.channels, channels);
    check<DataError>(
        image.height > 0 && image.width > 0 &&
            image.pixels.size() == static_cast<std::size_t>(image.height * image.width * channels),
        "predict: an image of {} x {} pixels has {} bytes, expected {}",
        image.width,
        image.height,
        image.pixels.size(),
        image.height * image.width * channels);
    const bool fits = image.height == height && image.width == width;
    const data::Image scaled = fits ? data::Image{} : resize_and_crop(image, height, width);
    pipeline.run(std::span(fits ? image.pixels : scaled.pixels), 0, 0, 0, out, scratch);
    out += height * width * channels;
  }
  return x;
}

Tensor Predictor::State::normalized(std::span<const float> features) {
  const auto each = static_cast<std::size_t>(description.channels);
  Tensor x = host_tensor({static_cast<std::int64_t>(features.size() / each), description.channels},
                         DType::f32);
  float* out = x.span<float>().data();
  for (; !features.empty(); features = features.subspan(each), out += each)
    pipeline.run(features.first(each), 0, 0, 0, out, scratch);
  return x;
}

Tensor Predictor::State::logits(const Tensor& x, const std::optional<nn::TestViews>& views) {
  Tape tape(*ctx, {.mode = ForwardMode::eval, .grad = false});
  const Tensor images = cast_to(options.dtype, to_device(*ctx, ctx->step(), x));
  Var pred = (*model.module)(tape.input(images));
  if (views)
    pred = nn::predict_views(*model.module, images, 0, pred, *views, description.target_kind);
  return to_host(*ctx, cast_to(DType::f32, pred.value()));
}

Tensor Predictor::State::cast_to(DType dtype, const Tensor& x) {
  if (x.dtype() == dtype) return x;
  Tensor y(ctx->step(), x.shape(), dtype);
  kernels::cast(*ctx, x, y);
  return y;
}

Prediction Predictor::State::decode(std::vector<float> said) const {
  Prediction out;
  if (description.target_kind == TargetKind::values) {
    out.values = std::move(said);
    return out;
  }
  out.probabilities = std::move(said);
  if (description.target_kind == TargetKind::labels || !out.valid()) return out;
  const auto& p = out.probabilities;
  out.label = static_cast<int>(std::ranges::max_element(p) - p.begin());
  out.name = description.classes[static_cast<std::size_t>(out.label)];
  return out;
}

void Predictor::State::predict(const Tensor& x, std::vector<Prediction>& out) {
  const Tensor all = logits(x, options.views);
  const auto outputs = description.classes.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.shape()[0]); ++i) {
    const std::vector<double> one =
        interpret(description.target_kind, all.span<float>().subspan(i * outputs, outputs));
    std::vector<float> rounded;
    for (const double v : one) rounded.push_back(static_cast<float>(v));
    out.push_back(decode(std::move(rounded)));
  }
}

Predictor::Predictor(std::unique_ptr<Context> ctx,
                     nn::Model model,
                     SavedModel description,
                     const PredictorOptions& options) {
  if (ctx == nullptr || model.params == nullptr || model.module == nullptr)
    fail<UsageError>("predictor: {} is missing; was it moved from?",
                     ctx == nullptr ? "the context" : "the model's parameters or module");
  if (options.batch_size < 1)
    fail<UsageError>("predictor: the batch size must be at least 1, got {}", options.batch_size);
  if (description.classes.size() != static_cast<std::size_t>(model.classes))
    fail<UsageError>(
        "predictor: {} names for a model of {} outputs", description.classes.size(), model.classes);
  model.params->set_working_dtype(options.dtype);
  data::Pipeline pipeline({},
                          description.normalization,
                          {description.input.height,
                           description.input.width,
                           description.channels,
                           description.input.height == 0});
  state_.reset(new State{
      std::move(ctx), std::move(model), std::move(description), options, std::move(pipeline)});
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

Predictor::State& Predictor::state() const {
  check<std::logic_error>(state_ != nullptr, "predictor: this one was moved from; use the other");
  return *state_;
}

const std::vector<std::string>& Predictor::classes() const { return state().description.classes; }

const SavedModel& Predictor::description() const { return state().description; }

Prediction Predictor::operator()(const data::Image& image) {
  return (*this)(std::span(&image, 1)).front();
}

std::vector<Prediction> Predictor::operator()(std::span<const data::Image> images) {
  const std::scoped_lock lock(state().turn);
  std::vector<Prediction> out;
  const auto batch = static_cast<std::size_t>(state().options.batch_size);
  for (std::size_t begin = 0; begin < images.size(); begin += batch)
    state().predict(
        state().normalized(images.subspan(begin, std::min(batch, images.size() - begin))), out);
  return out;
}

std::vector<Prediction> Predictor::of_features(std::span<const float> values) {
  const std::scoped_lock lock(state().turn);
  const SavedModel& model = state().description;
  check<UsageError>(
      model.input.height == 0, "predict: '{}' takes images, not features", model.model);
  check<UsageError>(!state().options.views, "predict: features have no mirror image");
  const auto each = static_cast<std::size_t>(model.channels);
  check<UsageError>(values.size() % each == 0,
                    "predict: {} values are not a multiple of {} features",
                    values.size(),
                    each);
  std::vector<Prediction> out;
  const std::size_t batch = static_cast<std::size_t>(state().options.batch_size) * each;
  for (std::size_t begin = 0; begin < values.size(); begin += batch)
    state().predict(
        state().normalized(values.subspan(begin, std::min(batch, values.size() - begin))), out);
  return out;
}

Tensor Predictor::logits(const Tensor& images) {
  const std::scoped_lock lock(state().turn);
  Shape wanted{images.shape().rank() > 0 ? images.shape()[0] : 0};
  for (const std::int64_t extent : state().description.input_shape()) wanted.push_back(extent);
  check(images.shape() == wanted,
        "predictor: samples must be {}, they are {}",
        wanted,
        images.shape());
  check<DTypeError>(
      images.dtype() == DType::f32, "predictor: images must be f32, they are {}", images.dtype());
  return state().logits(images);
}

}  // namespace learn
