#include "apps/learn/cli/options.h"

#include "apps/learn/cli/command.h"
#include "apps/learn/cli/command_help.h"
#include "callbacks/registry.h"
#include "data/loading/augmentation.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/metrics/metric_registry.h"
#include "framework/nn/loss_registry.h"
#include "framework/nn/test_views.h"
#include "framework/optim/registry.h"
#include "models/registry.h"

#include <algorithm>

namespace learn::cli {
namespace {

template <class Signature>
void append(std::vector<Choice>& all,
            const std::string& kind,
            const Registry<Signature>& registry) {
  for (const std::string& name : registry.names())
    all.push_back({kind, name, registry.help(name), registry.configure(name).options});
}

/// A kind, the option that chooses one, and how.
struct Kind {
  std::string name, option, where;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"augmentation", "augment", "--augment 'NAME:OPTION=VALUE,...|NAME...'"},
      {"callback", "callbacks", "--callbacks 'NAME:OPTION=VALUE,...;NAME...'"},
      {"data", "data", "--data NAME:OPTION=VALUE,... or PATH:OPTION=VALUE,..."},
      {"loss", "loss", "--loss NAME:OPTION=VALUE,..."},
      {"metric", "metrics", "--metrics NAME:OPTION=VALUE,NAME..."},
      {"model", "model", "--model NAME:OPTION=VALUE,..."},
      {"optimizer", "optimizer", "--optimizer NAME:OPTION=VALUE,..."},
      {"schedule", "schedule", "--schedule NAME:OPTION=VALUE,..."},
      {"views", "tta", "--tta NAME:OPTION=VALUE,..."}};
  return all;
}

std::string rows(const Choice& choice, std::size_t width) {
  std::string text = help_row("  " + choice.name, choice.help, width);
  for (const Option& option : choice.options.all()) {
    const std::string value = option.value.empty() ? "true|false" : option.value;
    text += help_row(fmt::format("    {}={}", option.name, value),
                     option.help_with_default() + (option.range.empty() ? "" : ", " + option.range),
                     width);
  }
  return text;
}

/// "callbacks" is "callback".
std::string kind_or_name(const std::string& given) {
  for (const Kind& kind : kinds())
    if (given == kind.name + "s") return kind.name;
  return given;
}

}  // namespace

std::vector<Choice> choices() {
  std::vector<Choice> all;
  append(all, "augmentation", data::augmentation_registry());
  append(all, "callback", callbacks::callback_registry());
  append(all, "data", data::dataset_registry());
  append(all, "loss", nn::loss_registry());
  append(all, "metric", metric_registry());
  append(all, "model", models::model_registry());
  append(all, "optimizer", optim::optimizer_registry());
  append(all, "schedule", optim::schedule_registry());
  append(all, "views", nn::view_registry());
  return all;
}

std::string_view kind_of_option(std::string_view option) {
  for (const Kind& kind : kinds())
    if (kind.option == option) return kind.name;
  return {};
}

std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  for (const Choice& choice : choices()) names.push_back(choice.name);
  return names;
}

bool is_choice(const std::string& name) {
  const std::vector<std::string> known = choice_names();
  return std::ranges::find(known, kind_or_name(name)) != known.end();
}

int options(const std::string& given) {
  const std::string name = kind_or_name(given);
  const std::vector<Choice> all = choices();
  if (!name.empty()) require_known("kind or name", name, choice_names());
  const std::size_t width = help_width();
  std::string text;
  for (const Kind& kind : kinds()) {
    const auto chosen = [&](const Choice& choice) {
      return choice.kind == kind.name &&
             (name.empty() || name == choice.kind || name == choice.name);
    };
    if (std::ranges::none_of(all, chosen)) continue;
    text += fmt::format("{}: {}\n", kind.name, kind.where);
    for (const Choice& choice : all)
      if (chosen(choice)) text += rows(choice, width);
    text += "\n";
  }
  console::print(text);
  return 0;
}

void register_options(Commands& commands) {
  commands.add(
      {.name = "options",
       .place = 1,
       .help = "list callbacks, models, optimizers, ... and their options",
       .arguments =
           {{.name = "NAME",
             .help = "a kind (callback, data, metric, model, optimizer, schedule), or one name",
             .known = choice_names}},
       .examples = {{"List the callbacks and their options", "learn options callback"},
                    {"Show one schedule", "learn options one-cycle"}},
       .in_ranks = true,
       .run = [](const Parsed& parsed) { return options(parsed.argument()); }});
}

}  // namespace learn::cli
