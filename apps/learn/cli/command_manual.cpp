#include "apps/learn/cli/command_manual.h"

#include <algorithm>
#include <iterator>

namespace learn::cli {
namespace {

struct Entry {
  std::string command;
  std::string group;
  std::vector<Example> examples;
};

const std::vector<Entry>& manual() {
  static const std::vector<Entry> entries{
      {"train",
       "Train",
       {{"A folder of images, one subfolder a class",
         "learn train --data ~/photos --val-split 0.2 --image-size 64"},
        {"A larger model in half precision",
         "learn train --data ~/photos --model resnet18 --epochs 20 --precision fp16"},
        {"What was stopped, from where it was; and what was done, once more",
         "learn train --resume last"},
        {"All options of an earlier run but one",
         "learn train --config runs/train/config.toml --seed 7"}}},
      {"lr-find",
       "Train",
       {{"The rate for the training that has the same options",
         "learn lr-find --data ~/photos --model resnet18 --plot lr.png"}}},
      {"batch-size-find",
       "Train",
       {{"What fits, and what is fast",
         "learn batch-size-find --data ~/photos --model resnet18 --precision fp16"}}},
      {"audit",
       "Train",
       {{"Whether a training goes well in half precision",
         "learn audit --config runs/train/config.toml --precision fp16"}}},
      {"eval",
       "Use a model",
       {{"The latest run, with its most common errors", "learn eval last --confusion"},
        {"A run on other images, with tables and drawings",
         "learn eval runs/train --data ~/more --save errors"},
        {"What mirror images bring, for a program", "learn eval last --tta --json"}}},
      {"predict",
       "Use a model",
       {{"Images, with the five likeliest classes", "learn predict last cat.jpg dog.jpg --top 5"},
        {"A folder, as a table for other programs", "learn predict runs/train ~/photos --csv"},
        {"Of several labels those that are likelier than 0.3",
         "learn predict last beach.jpg --threshold 0.3"},
        {"A file whose name begins with a dash", "learn predict last -- -odd.jpg"}}},
      {"export",
       "Use a model",
       {{"For ONNX runtimes, as small as it gets", "learn export last model.onnx --fold"},
        {"For PyTorch", "learn export runs/train model.safetensors"}}},
      {"import",
       "Use a model",
       {{"A ResNet of torchvision",
         "learn import resnet18.safetensors --model resnet18 --normalize imagenet "
         "--out own.safetensors"}}},
      {"average",
       "Use a model",
       {{"The mean of three runs", "learn average runs/a runs/b runs/c --out mean.safetensors"}}},
      {"runs",
       "Look at runs",
       {{"All, the best first", "learn runs --sort best"},
        {"One in full; two side by side", "learn runs train-3"},
        {"Away with those that came to nothing", "learn runs --remove train train-2"}}},
      {"report",
       "Look at runs",
       {{"A page for the browser", "learn report last"},
        {"Two runs side by side", "learn report runs/train runs/train-2 --out both.html"}}},
      {"plot",
       "Look at runs",
       {{"The losses of two runs", "learn plot runs/train runs/train-2 --out both.svg"}}},
      {"data",
       "Look at data",
       {{"What is there, and what is wrong with it", "learn data verify ~/photos"},
        {"Images with their classes, before and after augmentation",
         "learn data show ~/photos --augment full"},
        {"A folder of images to try things with", "learn data make synthetic10 shapes"}}},
      {"show-batch",
       "Look at runs",
       {{"What augmentation does", "learn show-batch --data ~/photos --augment full"}}},
      {"show-schedule",
       "Look at runs",
       {{"How the learning rate will move",
         "learn show-schedule --data ~/photos --schedule flat-cos --epochs 20"}}},
      {"models",
       "What there is",
       {{"The layers of a model", "learn models resnet18 --classes 5 --image-size 64"}}},
      {"options",
       "What there is",
       {{"The callbacks and their options", "learn options callback"},
        {"One thing alone", "learn options one-cycle"}}},
      {"autocast", "What there is", {{"The table of operations", "learn autocast"}}},
      {"doctor", "What there is", {{"The machine, without timing it", "learn doctor --seconds 0"}}},
      {"help",
       "What there is",
       {{"A command", "learn help train"}, {"What is chosen by name", "learn help schedules"}}},
      {"man",
       "What there is",
       {{"The page of a command", "learn man train"},
        {"Pages and completions where shells and man look for them",
         "learn man --out ~/.local/share"}}},
      {"completion",
       "What there is",
       {{"For the shell that runs, bash for one", "learn completion bash"}}}};
  return entries;
}

}  // namespace

void add_manual(std::vector<Command>& commands) {
  std::vector<Command> ordered;
  for (const Entry& entry : manual()) {
    const auto command = std::ranges::find(commands, entry.command, &Command::name);
    if (command == commands.end()) continue;
    ordered.push_back(std::move(*command));
    ordered.back().group = entry.group;
    ordered.back().examples = entry.examples;
    commands.erase(command);
  }
  std::ranges::move(commands, std::back_inserter(ordered));
  commands = std::move(ordered);
}

}  // namespace learn::cli
