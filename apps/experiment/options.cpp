#include "apps/experiment/options.h"

#include "framework/core/log.h"

namespace learn {

OptionTable ExperimentOptions::table() {
  OptionTable table;
  data.declare(table);
  model.declare(table);
  training.declare(table);
  precision.declare(table);
  device.declare(table);
  ranks.declare(table);
  run.declare(table);
  return table;
}

void ExperimentOptions::check() const {
  data.check();
  model.check();
  training.check();
  precision.check();
  run.check();
  if (const std::string* const spec = precision_callback()) precision.check_replaced(*spec);
}

void ExperimentOptions::know(const data::Dataset& train) {
  training.know(train);
  run.know(train.target_kind);
}

void ExperimentOptions::leave_out_without_effect(const std::set<std::string>& given) {
  const OptionTable options = table();
  std::vector<std::string> before;
  for (const Option& option : options.all()) before.push_back(option.toml());
  data.leave_out_without_effect(given);
  model.leave_out_without_effect(given);
  training.leave_out_without_effect(given);
  run.leave_out_without_effect(given);
  auto was = before.begin();
  for (const Option& option : options.all())
    if (const std::string value = *was++; value != option.toml())
      log::info("[options] {} = {} is ignored: it has no effect with the given options",
                option.name,
                value);
}

void ExperimentOptions::leave_out_precision_callback() {
  const std::string* const found = precision_callback();
  if (found == nullptr) return;
  const std::string spec = *found;
  log::warn("[resume] the run's --callbacks {} is left out: it continues in --precision {}",
            spec,
            precision.chosen());
  std::erase(run.callbacks, spec);
}

const std::string* ExperimentOptions::precision_callback() const {
  for (const std::string& name : precision_callbacks())
    if (const std::string* const spec = run.named(name)) return spec;
  return nullptr;
}

void set_options(const OptionTable& table, const OptionValues& values) {
  for (const auto& [name, text] : values) {
    const Option* option = table.find(name);
    if (option == nullptr)
      fail<UsageError>("unknown option '{}'{}", name, did_you_mean(name, table.names()));
    try {
      option->set(text);
    } catch (const UsageError& e) {
      fail<UsageError>("--{}: {}", name, e.what());
    }
  }
}

}  // namespace learn
