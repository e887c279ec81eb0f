#include "apps/learn/data/data_command.h"

#include "apps/learn/cli/command.h"
#include "data/sets/registry.h"

#include <algorithm>
#include <array>

namespace learn::cli {
namespace {

struct Action {
  const char* name;
  std::vector<std::string> options;
};

const std::vector<Action>& actions() {
  static const std::vector<std::string> pair{"data-dir",
                                             "classes",
                                             "val-split",
                                             "train-limit",
                                             "valid-limit",
                                             "image-size",
                                             "threads",
                                             "seed"};
  const auto with = [](std::vector<std::string> options, const std::vector<std::string>& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  static const std::vector<Action> all{
      {"info", with(pair, {"json"})},
      {"show", with(pair, {"normalize", "augment", "images", "versions", "valid", "out"})},
      {"verify", {"data-dir", "threads", "json", "all"}},
      {"make", pair}};
  return all;
}

/// Throws UsageError for an unknown action and for an option that it does not use, and the errors
/// of the action.
int data_command(DataCommandOptions& o, const Parsed& parsed) {
  o.action = parsed.argument();
  std::vector<std::string> names;
  for (const Action& action : actions()) names.emplace_back(action.name);
  require_known("action of 'learn data'", o.action, names);
  const auto action =
      std::ranges::find(actions(), o.action, [](const Action& a) { return std::string(a.name); });
  for (const auto& [name, value] : parsed.values)
    if (std::ranges::find(action->options, name) == action->options.end())
      fail<UsageError>("--{} has no effect on 'learn data {}', whose options are: --{}",
                       name,
                       o.action,
                       join(action->options, ", --"));
  o.folder = parsed.argument(2);
  if (o.folder.empty() && o.action == "make")
    fail<UsageError>("learn data make: add the folder to write after '{}'", parsed.argument(1));
  if (!o.folder.empty() && o.action != "make")
    fail<UsageError>(
        "learn data {}: '{}' has no effect after '{}'", o.action, o.folder, parsed.argument(1));
  set_options(parsed.command->options, parsed.values);
  o.show.train.experiment.data.data = parsed.argument(1);
  (void)data::dataset_spec(parsed.argument(1));
  if (o.action == "info") return data_info(o);
  if (o.action == "verify") return data_verify(o);
  return o.action == "make" ? data_make(o) : show_batch(o.show);
}

}  // namespace

OptionTable DataCommandOptions::table() {
  OptionTable t = some_of_train(show.train,
                                {"data-dir",
                                 "classes",
                                 "val-split",
                                 "train-limit",
                                 "valid-limit",
                                 "image-size",
                                 "normalize",
                                 "augment",
                                 "threads",
                                 "seed"});
  t.group("info and verify");
  t.flag("json", json, "print a JSON object instead of text");
  t.flag("all", all, "verify: list all findings instead of the first ten of each kind");
  t.group("show");
  declare_show_batch(t, show);
  return t;
}

void register_data(Commands& commands) {
  const auto o = std::make_shared<DataCommandOptions>();
  commands.add(
      {.name = "data",
       .group = Group::data,
       .help = "inspect, verify or export a data set",
       .arguments = {{.name = "info|show|verify|make",
                      .help = "report its content, draw some images, decode and check all files, "
                              "or write it as PNG files with a table",
                      .required = true},
                     {.name = "DATA",
                      .help = "data set, as for --data of 'learn train'",
                      .required = true},
                     {.name = "DIR", .help = "folder that 'make' writes"}},
       .examples = {{"Check a data set", "learn data verify ~/photos"},
                    {"Draw images with their classes, original and augmented",
                     "learn data show ~/photos --augment full"},
                    {"Write a folder of drawn images", "learn data make synthetic10 shapes"}},
       .options = o->table(),
       .run = [o](const Parsed& parsed) { return data_command(*o, parsed); }});
}

}  // namespace learn::cli
