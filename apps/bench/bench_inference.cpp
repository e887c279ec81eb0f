// Inference speed: the forward pass of a model in eval mode, as a Predictor runs it. Prints one
// JSON object on stdout; apps/bench/compare_inference.py compares it with PyTorch and onnxruntime.
#include "apps/bench/program.h"
#include "apps/experiment/device_section.h"
#include "framework/core/seconds_since.h"
#include "framework/inference/predictor.h"
#include "framework/tensor/host_tensor.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Options {
  std::string model = "resnet18";
  std::int64_t batch = 1;
  std::int64_t threads = 0;
  bool winograd = true;
  DType dtype = DType::f32;
  double seconds = 2;
};

OptionTable option_table(Options& o) {
  OptionTable table;
  table.group("Options");
  table.text("model", o.model, "SPEC", "model of the registry");
  table.number("batch", o.batch, {.low = 1, .high = 65536}, "N", "images per call");
  declare_threads(table, o.threads);
  declare_winograd(table, o.winograd);
  table.choice("precision",
               o.dtype,
               {{"fp32", DType::f32}, {"fp16", DType::f16}, {"bf16", DType::bf16}},
               "precision of the model");
  table.number("seconds", o.seconds, kPositive, "S", "seconds to measure");
  return table;
}

Predictor make_predictor(const Options& o) {
  SavedModel description{.model = o.model, .classes = {}, .input = {32, 32}, .normalization = {}};
  for (int c = 0; c < 10; ++c) description.classes.push_back(std::to_string(c));
  auto ctx = std::make_unique<Context>(ContextOptions{.device = Device::cpu(),
                                                      .threads = static_cast<int>(o.threads),
                                                      .winograd = o.winograd,
                                                      .constant_weights = true});
  nn::Model model = description.make();
  model.params->materialize(*ctx);
  return {std::move(ctx), std::move(model), std::move(description), {.dtype = o.dtype}};
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  const OptionTable table = option_table(o);
  return bench::run_program(
      argc, argv, "bench_inference", "Measures the time of a forward pass", table, [&] {
        Predictor predict = make_predictor(o);
        Tensor images = host_tensor({o.batch, 32, 32, 3}, DType::f32);
        std::ranges::fill(images.span<float>(), 0.5F);
        using Clock = std::chrono::steady_clock;
        for (int i = 0; i < 3; ++i) (void)predict.logits(images);
        std::vector<double> times;
        for (const Clock::time_point begin = Clock::now(); seconds_since(begin) < o.seconds;) {
          const Clock::time_point call = Clock::now();
          (void)predict.logits(images);
          times.push_back(seconds_since(call));
        }
        std::ranges::sort(times);
        fmt::print(
            "{{\"system\": \"learn\", \"model\": \"{}\", \"batch\": {}, \"median_ms\": {:.4f}, "
            "\"best_ms\": {:.4f}, \"calls\": {}}}\n",
            o.model,
            o.batch,
            times[times.size() / 2] * 1e3,
            times.front() * 1e3,
            times.size());
        return 0;
      });
}
