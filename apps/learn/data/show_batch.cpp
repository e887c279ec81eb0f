#include "apps/learn/data/show_batch.h"

#include "apps/experiment/experiment.h"
#include "apps/learn/cli/command.h"
#include "data/show/show_batch.h"
#include "framework/core/console.h"
#include "framework/runs/result_path.h"

namespace learn::cli {

namespace {

const std::vector<std::string>& of_training() {
  static const std::vector<std::string> names{"data",
                                              "data-dir",
                                              "classes",
                                              "val-split",
                                              "train-limit",
                                              "image-size",
                                              "normalize",
                                              "sampling",
                                              "augment",
                                              "threads",
                                              "seed",
                                              "config",
                                              "preset"};
  return names;
}

}  // namespace

OptionTable ShowBatchOptions::table() {
  OptionTable t = some_of_train(train, of_training());
  t.group("This call");
  declare_show_batch(t, *this);
  return t;
}

void declare_show_batch(OptionTable& t, ShowBatchOptions& o) {
  t.number("images", o.images, {.low = 1, .high = 1000}, "N", "number of images");
  t.number("versions",
           o.versions,
           {.low = 1, .high = 32},
           "N",
           "number of augmented versions of each image, one per epoch");
  t.flag("valid", o.valid, "show validation images, which are not augmented");
  t.text("out", o.out, "FILE", "the drawing to write, a .png or an .svg file");
}

void ShowBatchOptions::resolve(const OptionTable& table, const OptionValues& command_line) {
  resolve_some(of_training(), table, command_line);
}

int show_batch(const ShowBatchOptions& o) {
  plot::check_drawing_path(o.out);
  const ExperimentOptions& all = o.train.experiment;
  check_result_path(o.out, all.data.sources());
  Context ctx({.device = Device::cpu(), .threads = static_cast<int>(all.device.threads)});
  const std::unique_ptr<data::Loaders> loaders = loaders_to_look_at(ctx, all);
  const plot::ImageGrid grid = data::show_batch(o.valid ? loaders->valid() : loaders->train(),
                                                {.images = o.images, .versions = o.versions});
  plot::image_grid(grid).save(o.out);
  console::print(fmt::format("{}\n{}\n-> {}\n", grid.title, grid.subtitle, o.out));
  return 0;
}

void register_show_batch(Commands& commands) {
  commands.add<ShowBatchOptions>(
      {.name = "show-batch",
       .group = Group::runs,
       .place = 3,
       .help = "draw images of a training's batches, original and augmented",
       .examples = {{"Draw the effect of augmentation",
                     "learn show-batch --data ~/photos --augment full"}}},
      [](ShowBatchOptions& o, const Parsed&) { return show_batch(o); });
}

}  // namespace learn::cli
