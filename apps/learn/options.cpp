#include "apps/learn/options.h"

#include "callbacks/registry.h"
#include "data/registry.h"
#include "framework/core/console.h"
#include "framework/learner/metric_registry.h"
#include "framework/optim/registry.h"
#include "models/registry.h"

#include <algorithm>

namespace learn::cli {
namespace {

/// One thing that is chosen by name.
struct Choice {
  std::string kind, name, help;
  OptionTable options;
};

template <class Signature>
void append(std::vector<Choice>& all,
            const std::string& kind,
            const Registry<Signature>& registry) {
  for (const std::string& name : registry.names())
    all.push_back({kind, name, registry.help(name), registry.configure(name).options});
}

/// A kind, where it is chosen, and an example.
struct Kind {
  std::string name, where;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"callback", "--callbacks 'NAME:OPTION=VALUE,...;NAME...'"},
      {"data", "--data NAME:OPTION=VALUE,... or PATH:OPTION=VALUE,..."},
      {"metric", "--metrics NAME:OPTION=VALUE,NAME..."},
      {"model", "--model NAME:OPTION=VALUE,..."},
      {"optimizer", "--optimizer NAME:OPTION=VALUE,..."},
      {"schedule", "--schedule NAME:OPTION=VALUE,..."}};
  return all;
}

std::vector<Choice> choices() {
  std::vector<Choice> all;
  append(all, "callback", callbacks::callback_registry());
  append(all, "data", data::dataset_registry());
  append(all, "metric", metric_registry());
  append(all, "model", models::model_registry());
  append(all, "optimizer", optim::optimizer_registry());
  append(all, "schedule", optim::schedule_registry());
  return all;
}

/// A name and what it is, in two columns; a long name has a line of its own.
std::string row(int indent, const std::string& name, const std::string& text) {
  constexpr int kColumn = 26;
  const int rest = kColumn - indent;
  const bool fits = static_cast<int>(name.size()) < rest;
  return fmt::format("{0:{1}}{2:<{3}}{4}", "", indent, name, fits ? rest : 0, fits ? "" : "\n") +
         fmt::format("{0:{1}}{2}\n", "", fits ? 0 : kColumn, text);
}

std::string rows(const Choice& choice) {
  std::string text = row(2, choice.name, choice.help);
  for (const Option& option : choice.options.all())
    text +=
        row(4,
            fmt::format("{}={}", option.name, option.value.empty() ? "true|false" : option.value),
            option.help_with_default() + (option.range.empty() ? "" : ", " + option.range));
  return text;
}

}  // namespace

int options(const std::string& name) {
  const std::vector<Choice> all = choices();
  std::vector<std::string> known;
  for (const Kind& kind : kinds()) known.push_back(kind.name);
  for (const Choice& choice : all) known.push_back(choice.name);
  if (!name.empty()) require_known("kind or name", name, known);
  std::string text;
  for (const Kind& kind : kinds()) {
    const auto chosen = [&](const Choice& choice) {
      return choice.kind == kind.name &&
             (name.empty() || name == choice.kind || name == choice.name);
    };
    if (std::ranges::none_of(all, chosen)) continue;
    text += fmt::format("{}: {}\n", kind.name, kind.where);
    for (const Choice& choice : all)
      if (chosen(choice)) text += rows(choice);
    text += "\n";
  }
  console::print(text);
  return 0;
}

}  // namespace learn::cli
