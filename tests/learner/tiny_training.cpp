#include "tests/learner/tiny_training.h"

#include "framework/autograd/tape.h"
#include "framework/tensor/factory.h"

#include <cmath>
#include <utility>

namespace tiny {
namespace {

class ScaleNode final : public Node {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiny_scale"; }
  void backward(Tape& tape, const Tensor& dy) override {
    const Tensor& x = input(0).value();
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      for (std::int64_t i = 0; i < dx.elements(); ++i) {
        const double before = mode == GradMode::accumulate ? get(dx, i) : 0;
        const std::int64_t c = i % kFeatures;
        set(dx, i, before + get(dy, i) * get(input(1).value(), c) * get(input(2).value(), c));
      }
    });
    send(tape, dy, 1, [&](std::int64_t i, std::int64_t c) {
      return get(x, i) * get(input(2).value(), c);
    });
    send(tape, dy, 2, [&](std::int64_t i, std::int64_t c) {
      return get(x, i) * get(input(1).value(), c);
    });
  }

 private:
  /// Parameter gradients are summed over the batch in double and rounded once.
  void send(Tape& tape,
            const Tensor& dy,
            std::size_t to,
            const std::function<double(std::int64_t, std::int64_t)>& slope) {
    tape.accumulate(input(to), [&](Tensor& dw, GradMode mode) {
      for (std::int64_t c = 0; c < kFeatures; ++c) {
        double sum = mode == GradMode::accumulate ? get(dw, c) : 0;
        for (std::int64_t n = 0; n < dy.shape()[0]; ++n)
          sum += get(dy, n * kFeatures + c) * slope(n * kFeatures + c, c);
        set(dw, c, sum);
      }
    });
  }
};

class SquareLossNode final : public Node {
 public:
  explicit SquareLossNode(Tensor target) : target_(std::move(target)) {}
  [[nodiscard]] std::string_view name() const override { return "tiny_square_loss"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      const Tensor& pred = input(0).value();
      const double factor = get(dy, 0) / static_cast<double>(pred.shape()[0]);
      for (std::int64_t i = 0; i < pred.elements(); ++i) {
        const double before = mode == GradMode::accumulate ? get(dx, i) : 0;
        set(dx, i, before + factor * (get(pred, i) - get(target_, i)));
      }
    });
  }

 private:
  Tensor target_;
};

[[nodiscard]] nn::Init filled(double value) {
  return [value](Tensor& values, std::uint64_t, std::uint64_t) {
    for (std::int64_t i = 0; i < values.elements(); ++i) set(values, i, value);
  };
}

}  // namespace

Scale::Scale(const nn::Scope& scope, double initial)
    : Module(scope),
      weight_(scope.param("weight", {kFeatures}, nn::ParamRole::weight, filled(initial))),
      gain_(scope.param("gain", {kFeatures}, nn::ParamRole::norm_weight, filled(1))),
      running_(scope.buffer("running", {kFeatures}, 0)) {}

Var Scale::forward(const Var& x) {
  Tape& tape = x.tape();
  if (tape.training()) update_running(x.value());
  const Var w = tape.param(*weight_);
  const Var g = tape.param(*gain_);
  Tensor y = tape.empty(x.shape(), x.dtype());
  for (std::int64_t i = 0; i < y.elements(); ++i)
    set(y, i, get(x.value(), i) * get(w.value(), i % kFeatures) * get(g.value(), i % kFeatures));
  return tape.record({x, w, g}, std::move(y), ScaleNode());
}

void Scale::update_running(const Tensor& x) {
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t c = i % kFeatures;
    set(running_->value, c, 0.9 * get(running_->value, c) + 0.1 * get(x, i));
  }
}

nn::Loss square_loss() {
  return {"tiny_square_loss", [](const Var& pred, const Tensor& target) {
            check<DTypeError>(
                pred.dtype() == DType::f32, "the loss was given {} predictions", pred.dtype());
            double sum = 0;
            for (std::int64_t i = 0; i < pred.value().elements(); ++i)
              sum += 0.5 * std::pow(get(pred.value(), i) - get(target, i), 2);
            Tensor loss = pred.tape().empty({1}, DType::f32);
            set(loss, 0, sum / static_cast<double>(pred.shape()[0]));
            return pred.tape().record({pred}, std::move(loss), SquareLossNode(target));
          }};
}

Data::Data(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

std::int64_t Data::batches() const { return static_cast<std::int64_t>(sizes_.size()); }

std::int64_t Data::samples() const {
  std::int64_t sum = 0;
  for (const std::int64_t n : sizes_) sum += n;
  return sum;
}

void Data::begin(std::int64_t epoch) {
  epochs_begun.push_back(epoch);
  position_.batch = position_.first_batch(epoch);
  position_.epoch = epoch;
  sample_ = 0;
  for (std::size_t i = 0; i < at(); ++i) sample_ += sizes_[i];
}

void Data::visit_state(StateVisitor& visitor) { position_.visit_state(visitor, batches()); }

bool Data::next(Batch& batch) {
  if (at() >= sizes_.size()) return false;
  const Shape shape{sizes_[at()], kFeatures};
  batch.x = Tensor(arena_, shape, DType::f32);
  batch.y = Tensor(arena_, shape, DType::f32);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double phase = static_cast<double>(sample_ * kFeatures + i);
    set(batch.x, i, std::sin(1 + phase) * gain_of_batch(at()));
    set(batch.y, i, std::cos(2 + phase));
  }
  sample_ += shape[0];
  ++position_.batch;
  return true;
}

Training::Training(std::vector<std::int64_t> train_sizes,
                   std::vector<std::int64_t> valid_sizes,
                   LearnerOptions options,
                   nn::Model model)
    : train(std::move(train_sizes)),
      valid(std::move(valid_sizes)),
      learn(ctx,
            std::move(model),
            valid.batches() > 0 ? BatchSources(train, valid) : BatchSources(train),
            with_loss(std::move(options))) {}

Training::~Training() = default;

nn::Model Training::make_scale() {
  return nn::make_model<Scale>("scale", {kFeatures}, static_cast<int>(kFeatures));
}

LearnerOptions Training::with_loss(LearnerOptions options) {
  options.loss = square_loss();
  options.report = Report::off;
  return options;
}

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(get(tensor, i));
  return out;
}

}  // namespace tiny
