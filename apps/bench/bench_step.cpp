// Training throughput of a model: forward, backward and SGD on synthetic input, in images per
// second. One JSON object per run on stdout; apps/bench/compare.py runs it beside PyTorch.
#include "framework/autograd/ops/elementwise.h"
#include "framework/autograd/tape.h"
#include "framework/backend/cast.h"
#include "framework/nn/loss.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "models/registry.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Options {
  std::string model = "resnet9";
  std::int64_t width = 0;
  std::int64_t batch = 64;
  std::string precision = "fp32";
  int threads = 0;
  double seconds = 5;
};

DType dtype_of(const std::string& precision) {
  if (precision == "fp16") return DType::f16;
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One measured step, in seconds.
struct Phases {
  double forward = 0;
  double backward = 0;
  double update = 0;
  [[nodiscard]] double total() const { return forward + backward + update; }
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : ctx_({.threads = options.threads}),
        model_(models::make_model(options.model, {.classes = 10, .width = options.width})),
        tape_(ctx_) {
    model_.params->materialize(ctx_);
    model_.params->set_working_dtype(dtype_of(options.precision));
    sgd_ = std::make_unique<optim::Sgd>(*model_.params,
                                        optim::SgdOptions{.lr = 0.01F, .momentum = 0.9F});
    const Shape shape{options.batch, 32, 32, 3};
    const Tensor images = uniform(ctx_.persistent(), shape, DType::f32, -2, 2, ctx_.seed());
    x_ = Tensor(ctx_.persistent(), shape, model_.params->working_dtype());
    backend::cast(ctx_, images, x_);
    y_ = Tensor(ctx_.persistent(), {options.batch}, DType::i64);
    for (std::int64_t i = 0; i < options.batch; ++i) set(y_, i, static_cast<double>(i % 10));
  }

  Phases step() {
    Phases phases;
    const double begin = now();
    tape_.reset();
    model_.params->begin_gradients();
    const Var pred = ops::cast((*model_.module)(tape_.input(x_)), DType::f32);
    const Var loss = loss_.fn(pred, y_);
    const double forward_done = now();
    tape_.backward(loss);
    const double backward_done = now();
    sgd_->step();
    const double end = now();
    phases.forward = forward_done - begin;
    phases.backward = backward_done - forward_done;
    phases.update = end - backward_done;
    return phases;
  }

  [[nodiscard]] int threads() { return ctx_.threads().threads(); }

 private:
  Context ctx_;
  nn::Model model_;
  Tape tape_;
  nn::Loss loss_ = nn::cross_entropy();
  std::unique_ptr<optim::Sgd> sgd_;
  Tensor x_, y_;
};

int run(const Options& options) {
  Bench bench(options);
  for (int i = 0; i < 3; ++i) (void)bench.step();
  std::vector<Phases> steps;
  for (const double end = now() + options.seconds; now() < end || steps.size() < 5;)
    steps.push_back(bench.step());
  std::sort(steps.begin(), steps.end(), [](const Phases& a, const Phases& b) {
    return a.total() < b.total();
  });
  const Phases& median = steps[steps.size() / 2];
  const auto rate = [&](const Phases& p) { return static_cast<double>(options.batch) / p.total(); };
  fmt::print(
      "{{\"system\": \"learn\", \"model\": \"{}\", \"batch\": {}, \"precision\": \"{}\", "
      "\"threads\": {}, "
      "\"images_per_s\": {:.1f}, \"best\": {:.1f}, \"worst\": {:.1f}, \"steps\": {}, "
      "\"forward_ms\": {:.2f}, \"backward_ms\": {:.2f}, \"update_ms\": {:.2f}}}\n",
      options.model,
      options.batch,
      options.precision,
      bench.threads(),
      rate(median),
      rate(steps.front()),
      rate(steps.back()),
      steps.size(),
      median.forward * 1e3,
      median.backward * 1e3,
      median.update * 1e3);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Training throughput of a model on synthetic input"};
  app.add_option("--model", options.model, "model of the registry")->capture_default_str();
  app.add_option("--width", options.width, "its width, 0 for the default")->capture_default_str();
  app.add_option("--batch", options.batch, "images per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--precision", options.precision, "of the model")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "0 = physical cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long to measure")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
