// What a learner does without training: validate, get_preds, predict.
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>
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

/// Joins host tensors along their first dimension. Undefined if there are none.
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
    const auto row = values.subspan(begin, columns);
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float v : row) sum += std::exp(v - top);
    for (float& v : row) v = static_cast<float>(std::exp(v - top) / sum);
  }
}

}  // namespace

void Learner::validate() {
  require_idle("validate");
  check<UsageError>(data_.valid != nullptr,
                    "validate: this learner was given no validation source");
  run_activity(Activity::validate, [&] { validate_epoch(); });
}

Predictions Learner::get_preds(BatchSource& source) {
  require_idle("get_preds");
  std::vector<Tensor> preds;
  std::vector<Tensor> targets;
  Predictions out;
  run_activity(Activity::predict, [&] {
    const auto collect = [&] {
      preds.push_back(to_host(ctx_, batch_.pred.value()));
      if (batch_.y.defined()) targets.push_back(to_host(ctx_, batch_.y));
    };
    evaluate(source, collect, [&] { out.loss = valid_losses_.mean(ctx_); });
  });
  out.preds = join(preds);
  out.targets = join(targets);
  return out;
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
