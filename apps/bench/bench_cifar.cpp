// Time to accuracy: trains a net on CIFAR-10 once per seed, and prints how long the training took
// to reach the target, and the final accuracy. The recipe follows cifar10-fast's dawn.py (ResNet-9,
// batch 512, 24 epochs) as far as `learn train` supports it. Every part of it is an option of the
// same name as in `learn train`.
#include "apps/bench/program.h"
#include "apps/bench/race.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Options {
  ExperimentOptions experiment;
  double target = 0.94;
  std::int64_t runs = 3;
  std::string json;
};

/// cifar10-fast sums the loss of 512 images at a rate of 0.4 / 512 and adds 5e-4 * 512 times the
/// weights to the gradient, which is 0.4 and 5e-4 for the mean. Momentum 0.9 multiplies that decay
/// by ten, but decoupled decay, as used here, is applied once; hence 5e-3.
ExperimentOptions dawn_recipe() {
  ExperimentOptions o;
  o.data.data = "cifar10";
  o.model.model = "resnet9";
  o.training = {.epochs = 24,
                .batch_size = 512,
                .lr = {0.4},
                .warmup = 5.0 / 24,
                .optimizer = "sgd",
                .momentum = 0.9,
                .weight_decay = 5e-3,
                .augment = "full"};
  o.device.cuda.tune = true;
  o.device.seed = 1;
  return o;
}

void print_head(const std::string& headline, const Options& options) {
  fmt::print("{}, {} epochs, target {:.1f} %; seconds of training passes, without validation\n\n",
             headline,
             options.experiment.training.epochs,
             100 * options.target);
  fmt::print(
      "| seed | accuracy | best epoch | training | to the target | images/s |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
}

/// Trains once and prints the run's line. The first run also prints the lines above the table.
nlohmann::ordered_json run_once(const Options& options, std::int64_t seed) {
  ExperimentOptions chosen = options.experiment;
  chosen.device.seed = seed;
  const bench::Race race = bench::race(chosen, options.target);
  if (seed == options.experiment.device.seed) print_head(race.headline, options);
  if (!race.finished)
    fail<Error>("seed {}: the training ended after {} of {} epochs: its loss is not finite",
                seed,
                race.accuracy.size(),
                chosen.training.epochs);
  nlohmann::ordered_json run{{"seed", seed},
                             {"accuracy", race.accuracy.back()},
                             {"best", std::ranges::max(race.accuracy)},
                             {"train_seconds", race.seconds},
                             {"seconds_to_target", nullptr},
                             {"epochs_to_target", nullptr},
                             {"images_per_s", race.images_per_s},
                             {"accuracy_by_epoch", race.accuracy}};
  if (race.seconds_to_target) run["seconds_to_target"] = *race.seconds_to_target;
  if (race.epochs_to_target) run["epochs_to_target"] = *race.epochs_to_target;
  fmt::print(
      "| {} | {:.2f} % | {:.2f} % | {:.2f} s | {} | {:.0f} |\n",
      seed,
      100 * race.accuracy.back(),
      100 * std::ranges::max(race.accuracy),
      race.seconds,
      race.seconds_to_target
          ? fmt::format("{:.2f} s, epoch {}", *race.seconds_to_target, *race.epochs_to_target)
          : "not reached",
      race.images_per_s);
  std::fflush(stdout);
  return run;
}

void print_spread(const char* title,
                  const char* unit,
                  double scale,
                  const std::vector<nlohmann::ordered_json>& runs,
                  const char* key) {
  std::vector<double> values;
  for (const auto& run : runs)
    if (!run.at(key).is_null()) values.push_back(scale * run.at(key).get<double>());
  if (values.empty()) return;
  const bench::Spread s = bench::spread_of(values);
  fmt::print("{}: mean {:.2f} {}, standard deviation {:.2f}, {:.2f} to {:.2f}\n",
             title,
             s.mean,
             unit,
             s.deviation,
             s.least,
             s.most);
}

int run(const Options& options) {
  const ExperimentOptions& o = options.experiment;
  std::vector<nlohmann::ordered_json> runs;
  for (std::int64_t i = 0; i < options.runs; ++i)
    runs.push_back(run_once(options, o.device.seed + i));
  fmt::print("\n");
  print_spread("accuracy", "%", 100, runs, "accuracy");
  print_spread("training", "s", 1, runs, "train_seconds");
  const auto reached = std::ranges::count_if(
      runs, [](const auto& one) { return !one.at("seconds_to_target").is_null(); });
  fmt::print("target reached by {} of {} runs\n", reached, runs.size());
  print_spread("to the target", "s", 1, runs, "seconds_to_target");
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << nlohmann::ordered_json{{"model", o.model.model},
                                 {"width", o.model.width},
                                 {"data", o.data.data},
                                 {"device", o.device.device},
                                 {"precision", o.precision.chosen()},
                                 {"graph", o.device.cuda_graph},
                                 {"batch", o.training.batch_size},
                                 {"epochs", o.training.epochs},
                                 {"lr", o.training.lr},
                                 {"target", options.target},
                                 {"runs", runs}}
              .dump(1)
       << '\n';
  if (!file.flush()) fail<IoError>("cannot write '{}'", options.json);
  return 0;
}

OptionTable option_table(Options& o) {
  OptionTable table = o.experiment.table();
  table.group("Race");
  table.number("target",
               o.target,
               {.low = 0, .high = 1},
               "X",
               "target accuracy, at which the time is taken; 0.94 for 94 %");
  table.number("runs", o.runs, kCount, "N", "number of runs; each adds 1 to the seed");
  table.text("json", o.json, "FILE", "write all results to this file");
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  Options options{.experiment = dawn_recipe()};
  return bench::run_program(
      argc, argv, "bench_cifar", "Time to accuracy on CIFAR-10", option_table(options), [&] {
        return run(options);
      });
}
