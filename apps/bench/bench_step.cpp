// Training speed of a model: the learner's own loop on one synthetic batch. Prints one JSON object
// on stdout, under mpirun one of all ranks; apps/bench/compare.py runs it for several models,
// compares it with PyTorch, and prints a table.
#include "apps/bench/program.h"
#include "apps/bench/training_bench.h"
#include "apps/experiment/device_section.h"
#include "apps/learn/common/ranks.h"
#include "framework/core/options/option_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
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
                             {"image_size", options.image_size},
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

/// Figures of several ranks. Efficiency compares with the ranks without exchange.
nlohmann::ordered_json to_json(const bench::StepOptions& options,
                               const bench::RanksFigures& figures,
                               const Communicator& ranks) {
  const std::vector<double>& step = figures.together;
  const double median = step[step.size() / 2];
  const auto rate = [&](double seconds) {
    return rounded(static_cast<double>(options.batch) / seconds, 1);
  };
  nlohmann::ordered_json out{{"system", "learn"},
                             {"model", options.model},
                             {"image_size", options.image_size},
                             {"batch", options.batch},
                             {"precision", options.precision},
                             {"device", options.device},
                             {"mode", options.graph ? "graph" : "eager"},
                             {"ranks", ranks.place().ranks},
                             {"threads", figures.threads},
                             {"bucket_mb", options.bucket},
                             {"wire", options.wire == Wire::half ? "half" : "f32"},
                             {"overlap", options.overlap},
                             {"images_per_s", rate(median)},
                             {"best", rate(step.front())},
                             {"worst", rate(step.back())},
                             {"step_ms", rounded(median * 1e3, 4)},
                             {"best_ms", rounded(step.front() * 1e3, 4)},
                             {"steps", figures.steps},
                             {"agreeing_ms", rounded(figures.agreeing * 1e3, 3)},
                             {"summing_ms", rounded(figures.summing * 1e3, 3)},
                             {"sent_bytes", std::llround(figures.sent)}};
  if (!options.ranks_apart) return out;
  out["apart_ms"] = rounded(figures.apart_median * 1e3, 4);
  out["apart_best_ms"] = rounded(figures.apart_best * 1e3, 4);
  out["efficiency"] = rounded(figures.apart_median / median, 3);
  out["best_efficiency"] = rounded(figures.apart_best / step.front(), 3);
  return out;
}

OptionTable option_table(bench::StepOptions& o) {
  OptionTable table;
  table.group("Options");
  bench::declare_workload(table, o);
  table.choice("precision",
               o.precision,
               precision_names(),
               "precision, as for learn train; tf32 on CUDA only");
  table.text("device", o.device, "DEVICE", "cpu, cuda or cuda:N");
  declare_winograd(table, o.winograd);
  table.flag("graph", o.graph, "run the step as one CUDA graph");
  table.flag("tune", o.tune, "CUDA: time cuDNN's candidates at their first use");
  table.flag(
      "one-rank", o.one_rank, "train by DataParallel with one rank, which must cost nothing");
  table.number(
      "threads", o.threads, {.low = 0, .high = 1024}, "N", "CPU threads; 0: one per physical core");
  table.number("warm-up", o.warm_up, kCount, "N", "steps before the measurement");
  table.number("windows",
               o.windows,
               {.low = 1, .high = 1000},
               "N",
               "measurements, whose median is reported");
  table.number("seconds", o.seconds, kPositive, "S", "seconds of all measurements");
  table.group("Several processes (mpirun, srun), of which each has its share of the batch");
  table.number("bucket", o.bucket, kPositive, "MB", "gradients summed at a time");
  table.choice("wire",
               o.wire,
               {{"f32", Wire::f32}, {"half", Wire::half}},
               "type in which gradients are summed");
  table.flag("overlap", o.overlap, "sum gradients during the backward pass");
  table.flag("ranks-apart",
             o.ranks_apart,
             "in turns, measure the same processes without exchange, and print the efficiency");
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  bench::StepOptions options;
  return bench::run_program(
      argc,
      argv,
      "bench_step",
      "Training speed of a model on synthetic input",
      option_table(options),
      [&] {
        Communicator* const ranks = cli::open_ranks(std::chrono::minutes(5));
        const auto out = ranks != nullptr
                             ? to_json(options, bench::measure_ranks(options, *ranks), *ranks)
                             : to_json(options, bench::measure_steps(options));
        if (cli::is_first(ranks)) fmt::print("{}\n", out.dump());
        return 0;
      });
}
