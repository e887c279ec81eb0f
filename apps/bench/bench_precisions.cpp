// Costs and savings of half precision: trains the same net once per precision and seed, and prints
// its speed, memory and accuracy. By default it uses the recipe of fastai's mixed-precision
// notebook, with all classes; every part of it is an option of the same name as in `learn train`.
// Precisions alternate within a seed, so that a machine that becomes slower affects all of them.
#include "apps/bench/program.h"
#include "apps/bench/race.h"
#include "framework/core/options/suggest.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace learn;

namespace {

struct Options {
  ExperimentOptions experiment;
  std::vector<std::string> precisions{"fp32", "fp16-amp", "fp16", "pure-fp16", "bf16"};
  std::int64_t runs = 3;
  std::string json;
};

ExperimentOptions notebook_recipe() {
  ExperimentOptions o;
  set_options(o.table(), std::ranges::find(presets(), "notebook", &Preset::name)->values);
  o.data.classes.clear();  // which other data sets may lack
  return o;
}

std::string apex_name(const std::string& precision) {
  const std::string level = opt_level_of(precision);
  return level.empty() ? precision : fmt::format("{} ({})", precision, level);
}

double mebi(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

std::vector<std::string> row_of(const std::string& precision,
                                const std::vector<bench::Race>& races) {
  std::vector<double> accuracy;
  std::vector<double> speed;
  std::string each;
  for (const bench::Race& race : races) {
    if (!race.accuracy.empty()) speed.push_back(race.images_per_s);
    if (race.finished) accuracy.push_back(100 * race.accuracy.back());
    each += each.empty() ? "" : ", ";
    each += race.finished ? fmt::format("{:.2f}", accuracy.back()) : "diverged";
  }
  const bench::Race& any = races.front();
  return {apex_name(precision),
          speed.empty() ? "-" : fmt::format("{:.0f}", median(speed)),
          fmt::format("{:.1f}", mebi(any.kept_bytes)),
          fmt::format("{:.1f}", mebi(any.step_bytes)),
          fmt::format("{:.1f}", mebi(any.kept_bytes + any.step_bytes)),
          accuracy.empty() ? "-" : fmt::format("{:.2f}", bench::spread_of(accuracy).mean),
          each};
}

nlohmann::ordered_json to_json(const std::string& precision,
                               std::int64_t seed,
                               const bench::Race& race) {
  return {{"precision", precision},
          {"seed", seed},
          {"finished", race.finished},
          {"accuracy_by_epoch", race.accuracy},
          {"train_seconds", race.seconds},
          {"images_per_s", race.accuracy.empty() ? 0 : race.images_per_s},
          {"kept_bytes", race.kept_bytes},
          {"step_bytes", race.step_bytes}};
}

int run(const Options& options) {
  for (const std::string& name : options.precisions)
    require_known("precision", name, precision_names());
  std::vector<std::string> sorted = options.precisions;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail<UsageError>("--precisions contains {} twice", *twice);
  std::ofstream file(options.json);
  if (!options.json.empty() && !file) fail<IoError>("cannot open '{}'", options.json);
  const ExperimentOptions& o = options.experiment;
  std::map<std::string, std::vector<bench::Race>> races;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t seed = o.device.seed; seed < o.device.seed + options.runs; ++seed)
    for (const std::string& name : options.precisions) {
      ExperimentOptions chosen = o;
      chosen.device.seed = seed;
      chosen.precision = o.precision.in(name);
      const bench::Race race = bench::race(chosen, 1);
      if (runs.empty()) fmt::print(stderr, "{}\n", race.headline);
      fmt::print(stderr,
                 "seed {}, {}: {}\n",
                 seed,
                 name,
                 race.finished
                     ? fmt::format("{:.2f} % in {:.1f} s", 100 * race.accuracy.back(), race.seconds)
                     : "diverged");
      runs.push_back(to_json(name, seed, race));
      races[name].push_back(race);
    }
  using enum TextTable::Align;
  TextTable table({{"precision"},
                   {"images/s", right},
                   {"kept MiB", right},
                   {"step MiB", right},
                   {"peak MiB", right},
                   {"accuracy %", right},
                   {"of each seed"}});
  for (const std::string& name : options.precisions) table.row(row_of(name, races.at(name)));
  fmt::print("{}", table.to_string());
  if (options.json.empty()) return 0;
  file << nlohmann::ordered_json{{"model", o.model.model},
                                 {"data", o.data.data},
                                 {"device", o.device.device},
                                 {"batch", o.training.batch_size},
                                 {"epochs", o.training.epochs},
                                 {"runs", runs}}
              .dump(1)
       << '\n';
  if (!file.flush()) fail<IoError>("cannot write '{}'", options.json);
  return 0;
}

OptionTable option_table(Options& o) {
  OptionTable table = o.experiment.table().without({"precision", "opt-level"});
  table.group("Comparison");
  table.list("precisions", o.precisions, ',', "P,...", "as --precision has them");
  table.number("runs", o.runs, kCount, "N", "runs per precision; each adds 1 to the seed");
  table.text("json", o.json, "FILE", "write all results to this file");
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  Options options{.experiment = notebook_recipe()};
  return bench::run_program(argc,
                            argv,
                            "bench_precisions",
                            "Speed, memory and accuracy of a training in each precision",
                            option_table(options),
                            [&] { return run(options); });
}
