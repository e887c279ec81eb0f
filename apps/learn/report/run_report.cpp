#include "apps/learn/report/run_report.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/saved_run.h"
#include "data/show/show_batch.h"
#include "framework/core/log.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// "0.01" of "[0.01]", as the command line would give it.
std::string plain(const Option& option, const std::string& toml) {
  if (toml.empty()) return "";
  return config_values(fmt::format("[train]\n{} = {}\n", option.name, toml), "", "train")[0].text;
}

/// A checkpoint's record of its training: the given values and the defaults.
std::vector<RunReport::Setting> settings_of(const OptionTable& table, const SafetensorsFile& file) {
  std::vector<RunReport::Setting> settings;
  for (const Option& option : table.all())
    if (option.in_config)
      settings.push_back(
          {option.name, "", option.by_default ? "" : plain(option, option.usual), false});
  for (const ConfigEntry& entry : config_values(saved_value(file, "learn.config"), "", "train")) {
    const auto at = std::ranges::find(settings, entry.name, &RunReport::Setting::name);
    if (at == settings.end()) continue;
    at->value = entry.text;
    at->by_default = entry.by_default;
    if (entry.by_default) at->usual = entry.text;
  }
  return settings;
}

/// The model as in the training, with its precision.
nn::Summary layers_of(Context& ctx, const SavedModel& saved, const PrecisionSection& precision) {
  nn::Model model = saved.make();
  model.params->materialize(ctx, DType::f32, nn::InitialValues::none);
  precision.apply(*model.params);
  return nn::summarize(*model.module, *model.params, model.input, ctx, precision.autocast());
}

std::vector<html::Block> evaluation_blocks(const Evaluation& e,
                                           const fs::path& weights,
                                           std::int64_t top_losses) {
  std::vector<html::Block> blocks{
      html::Note{fmt::format("{} on the {} validation {}, in fp32, as plain {}",
                             weights.filename().string(),
                             e.size(),
                             data::sample_word(e.data()),
                             loss_name(e.data().target_kind))}};
  for (html::Block& block : e.blocks()) blocks.push_back(std::move(block));
  if (top_losses > 0 && e.data().form().is_image())
    blocks.insert(blocks.end(),
                  {html::Heading{"Largest losses"}, top_losses_grid(e, top_losses, "")});
  return blocks;
}

}  // namespace

RunReport report_run(const fs::path& run, const RunReportOptions& o, const data::Loaders* loaded) {
  callbacks::RunHistory history = callbacks::read_run_history(run);
  RunReport report{.record = read_run_record(run), .history = std::move(history)};
  const fs::path weights = saved_weights(run, o.weights);
  const SafetensorsFile file(weights);
  const SavedModel saved = saved_model(file);
  ExperimentOptions trained;
  const OptionTable table = trained.table();
  set_saved_options(table, file);
  report.settings = settings_of(table, file);

  std::optional<Context> ctx;  // created first, so that a wrong device is reported immediately
  if (o.evaluate) ctx.emplace(o.compute.context_options());
  Context cpu({.device = Device::cpu(), .threads = static_cast<int>(o.compute.threads)});
  report.layers = layers_of(cpu, saved, trained.precision);
  if (!o.evaluate && o.images == 0) return report;
  std::unique_ptr<data::Loaders> own;
  try {
    if (loaded == nullptr) {
      trained.data = saved_data(trained.data, file);
      if (!o.data_dir.empty()) trained.data.data_dir = o.data_dir;
      trained.device.threads = o.compute.threads;
      own = loaders_to_look_at(cpu, trained);
      loaded = own.get();
    }
    if (o.images > 0 && loaded->set().train.form().is_image())
      report.images = {data::show_batch(loaded->train(), {.images = o.images, .versions = 5})};
    if (o.evaluate)
      report.evaluation = evaluation_blocks(
          *evaluate(*ctx, weights, saved, loaded->set().valid, o.measuring).measured,
          weights,
          o.top_losses);
  } catch (const Error& e) {  // the rest is worth having
    log::warn("[report] '{}' without the parts that need its data: {}", run.string(), e.what());
    const html::Note note{fmt::format("Left out: {}", e.what()), true};
    if (o.images > 0 && report.images.empty() && saved.input.height > 0) report.images = {note};
    if (o.evaluate) report.evaluation = {note};
  }
  return report;
}

}  // namespace learn::cli
