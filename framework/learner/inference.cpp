// Methods without training: validate, evaluate, get_preds, predict, summary.
#include "framework/evaluation/confusion_matrix.h"
#include "framework/evaluation/probabilities.h"
#include "framework/kernels/cast/cast.h"
#include "framework/learner/learner.h"
#include "framework/nn/summary.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cstring>

namespace learn {
namespace {

/// A source of one batch without targets.
class SingleBatch final : public BatchSource {
 public:
  explicit SingleBatch(Tensor x) : x_(std::move(x)) {}
  [[nodiscard]] std::int64_t batches() const override { return 1; }
  [[nodiscard]] std::int64_t samples() const override { return x_.shape()[0]; }
  void begin(std::int64_t) override { given_ = false; }
  [[nodiscard]] bool next(Batch& batch) override {
    if (given_) return false;
    batch = {.x = x_};
    return given_ = true;
  }

 private:
  Tensor x_;
  bool given_ = false;
};

/// Joins host tensors along their first dimension. Undefined without tensors.
Tensor join(const std::vector<Tensor>& parts) {
  if (parts.empty()) return {};
  std::int64_t rows = 0;
  for (const Tensor& part : parts) rows += part.shape()[0];
  Shape shape = parts.front().shape();
  shape.set(0, rows);
  Tensor out = host_tensor(shape, parts.front().dtype());
  std::byte* at = out.raw();
  for (const Tensor& part : parts) {
    std::memcpy(at, part.raw(), part.bytes());
    at += part.bytes();
  }
  return out;
}

void softmax_rows(Tensor& logits) {
  const auto values = logits.span<float>();
  const auto columns = static_cast<std::size_t>(logits.shape()[-1]);
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    const std::vector<double> row = softmax(values.subspan(begin, columns));
    std::ranges::transform(row, values.begin() + static_cast<std::ptrdiff_t>(begin), [](double p) {
      return static_cast<float>(p);
    });
  }
}

/// The classes of the largest outputs; undefined without outputs.
Tensor decode(const Tensor& outputs) {
  if (!outputs.defined()) return {};
  const std::int64_t samples = outputs.shape()[0];
  const auto columns = static_cast<std::size_t>(outputs.elements() / samples);
  Tensor classes = host_tensor({samples}, DType::i64);
  for (std::size_t i = 0; i < classes.span<std::int64_t>().size(); ++i)
    classes.span<std::int64_t>()[i] =
        predicted_class(outputs.span<float>().subspan(i * columns, columns));
  return classes;
}

/// Row `i` as a batch of one, in separate memory, because kernels rely on its alignment.
Tensor row_of(Context& ctx, const Tensor& batch, std::int64_t i) {
  const Tensor row = batch.rows(i, 1);
  Tensor out = ctx.empty(row.shape(), row.dtype());
  copy(ctx, row, out);
  return out;
}

}  // namespace

const PassResults& Learner::validate() {
  require_idle("validate");
  check<UsageError>(state_.data.valid != nullptr,
                    "validate: this learner has no validation source");
  return evaluate(*state_.data.valid);
}

const PassResults& Learner::evaluate(BatchSource& source) {
  require_idle("evaluate");
  run_activity(Activity::validate, [&] { validate_epoch(source); });
  return state_.results;
}

/// The loss of each sample of the current batch, on the device.
Tensor Learner::sample_losses() {
  Tensor losses = ctx_.empty({batch_.size()}, DType::f32);
  for (std::int64_t i = 0; i < batch_.size(); ++i) {
    const Var pred = tape_.input(row_of(ctx_, batch_.pred.value(), i));
    const Var loss = options_.loss.fn(pred, row_of(ctx_, batch_.y, i));
    Tensor slot = losses.range(i, 1);
    kernels::cast(ctx_, loss.value().view({1}), slot);
  }
  return losses;
}

Predictions Learner::get_preds(BatchSource& source, const PredictionParts& parts) {
  require_idle("get_preds");
  std::vector<Tensor> preds, targets, inputs, losses;
  Predictions out;
  run_activity(Activity::predict, [&] {
    const auto collect = [&] {
      const auto add = [&](std::vector<Tensor>& to, const Tensor& rows) {
        to.push_back(to_host(ctx_, of_all_ranks(rows)));
      };
      add(preds, batch_.pred.value());
      if (parts.with_inputs) add(inputs, batch_.x);
      if (!batch_.y.defined()) return;
      add(targets, batch_.y);
      if (parts.with_losses) add(losses, sample_losses());
    };
    evaluate(source, collect, [&] { out.loss = state_.valid_losses.mean(ctx_); });
  });
  out.preds = join(preds);
  out.targets = join(targets);
  out.inputs = join(inputs);
  out.losses = join(losses);
  if (parts.with_decoded) out.decoded = decode(out.preds);
  return out;
}

std::string Learner::summary() const {
  return nn::summary(model(), params(), model_.input, ctx_, state_.autocast);
}

Tensor Learner::predict(const Tensor& x) {
  Shape sample;
  for (int i = 1; i < x.shape().rank(); ++i) sample.push_back(x.shape()[i]);
  check(x.shape().rank() > 0 && sample == model_.input,
        "predict: needs inputs (N,...) with samples {}, got {}",
        model_.input,
        x.shape());
  SingleBatch source(to_device(ctx_, ctx_.step(), x));
  Tensor probabilities = get_preds(source).preds;
  softmax_rows(probabilities);
  return probabilities;
}

}  // namespace learn
