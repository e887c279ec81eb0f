// Training speed of a model: the learner's own loop on one synthetic batch. One JSON object on
// stdout; apps/bench/compare.py runs it for several models, beside PyTorch, and prints a table.
#include "apps/bench/report_errors.h"
#include "apps/bench/training_bench.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

double rounded(double value, int decimals) {
  const double scale = std::pow(10, decimals);
  return std::round(value * scale) / scale;
}

nlohmann::ordered_json to_json(const bench::StepOptions& options,
                               const bench::StepFigures& figures) {
  std::vector<double> step = figures.step;
  std::ranges::sort(step);
  const double median = step[step.size() / 2];
  const auto rate = [&](double seconds) {
    return rounded(static_cast<double>(options.batch) / seconds, 1);
  };
  nlohmann::ordered_json out{{"system", "learn"},
                             {"model", options.model},
                             {"batch", options.batch},
                             {"precision", options.precision},
                             {"device", options.device},
                             {"mode", options.graph ? "graph" : "eager"},
                             {"threads", figures.threads},
                             {"images_per_s", rate(median)},
                             {"best", rate(step.front())},
                             {"worst", rate(step.back())},
                             {"step_ms", rounded(median * 1e3, 4)},
                             {"steps", figures.steps}};
  if (options.device == "cpu") {
    out["forward_ms"] = rounded(figures.phases.forward * 1e3, 2);
    out["backward_ms"] = rounded(figures.phases.backward * 1e3, 2);
    out["update_ms"] = rounded(figures.phases.update * 1e3, 2);
  } else {
    out["host_cpu_us"] = rounded(figures.host_cpu * 1e6, 1);
    out["host_wall_us"] = rounded(figures.host_wall * 1e6, 1);
    if (options.graph) out["operations"] = figures.operations;
    out["device_bytes"] = figures.device_bytes;
  }
  out["persistent_bytes"] = figures.persistent;
  out["activation_bytes"] = figures.activations;
  return out;
}

void add_options(CLI::App& app, bench::StepOptions& options) {
  app.add_option("--model", options.model, "model of the registry")->capture_default_str();
  app.add_option("--width", options.width, "its width, 0 for the default")->capture_default_str();
  app.add_option("--batch", options.batch, "images per step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--precision", options.precision, "of the model; tf32 on CUDA only")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--device", options.device, "cpu, cuda or cuda:N")->capture_default_str();
  app.add_flag("--graph", options.graph, "the step as one CUDA graph");
  app.add_flag("--tune", options.tune, "time cuDNN's candidates at their first use");
  app.add_option("--threads", options.threads, "0 = physical cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--warm-up", options.warm_up, "steps before the measurement")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--windows", options.windows, "stretches, of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long all of them take")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  bench::StepOptions options;
  CLI::App app{"Training speed of a model on synthetic input"};
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return bench::report_errors([&] {
    fmt::print("{}\n", to_json(options, bench::measure_steps(options)).dump());
    return 0;
  });
}
