// Event files of a training, read as by TensorBoard's two readers.
#include "callbacks/report/tensorboard.h"

#include "callbacks/lambda.h"
#include "callbacks/registry.h"
#include "data/loading/loaders.h"
#include "data/show/predictions_grid.h"
#include "models/registry.h"
#include "tests/callbacks/net_training.h"
#include "tests/support/log_file.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"
#include "tests/tensorboard/read_events.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tiny;
using namespace learn::callbacks;
using test::shown;
using test::steps;
namespace fs = std::filesystem;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Three batches of two in each epoch.
struct Run {
  explicit Run(const TemporaryFolder& in, TensorBoardOptions options = {})
      : folder(in / "tensorboard") {
    options.path = folder;
    t.learn.add<Recorder>();
    t.learn.add<TensorBoard>(std::move(options));
  }
  fs::path folder;
  Training t{{2, 2, 2}, {2}};
};

float number(const test::Tags& tags, const std::string& tag, std::int64_t step) {
  return tags.at(tag).at(step).simple_value();
}

}  // namespace

TEST_CASE("each batch and each epoch has a point with what was recorded") {
  const TemporaryFolder folder;
  Run run(folder);
  const double before = tensorboard::wall_time_now();
  run.t.learn.fit(2, 0.01);
  test::Tags tags = shown(run.folder);
  CHECK(steps(tags, "train/loss") == "1 2 3 4 5 6");
  CHECK(steps(tags, "epoch/valid_loss") == "3 6");
  const Recorder& recorder = *run.t.learn.find<Recorder>();
  for (const BatchRecord& batch : recorder.batches_read()) {
    CHECK(number(tags, "train/loss", batch.batch) == static_cast<float>(batch.loss));
    CHECK(number(tags, "train/smooth_loss", batch.batch) == static_cast<float>(batch.smooth_loss));
    CHECK(number(tags, "train/lr", batch.batch) == batch.lr);
    CHECK(number(tags, "train/momentum", batch.batch) == batch.momentum);
    CHECK(number(tags, "train/loss_scale", batch.batch) == 1);
    CHECK(number(tags, "train/skipped", batch.batch) == 0);
  }
  for (const EpochRecord& epoch : recorder.epochs()) {
    const std::int64_t step = 3 * epoch.epoch;
    CHECK(number(tags, "epoch/train_loss", step) == static_cast<float>(epoch.train_loss));
    CHECK(number(tags, "epoch/valid_loss", step) == static_cast<float>(epoch.valid_loss));
    CHECK(number(tags, "epoch/samples_per_second", step) ==
          static_cast<float>(epoch.samples_per_second));
  }
  CHECK_FALSE(tags.contains("train/grad_norm"));
  CHECK_FALSE(tags.contains("config"));
  double last = before;
  for (const auto& event : test::read_events(test::event_files(run.folder).at(0))) {
    CHECK(event.wall_time() >= before);
    CHECK(event.wall_time() <= tensorboard::wall_time_now());
    if (steps(tags, "train/loss").find(std::to_string(event.step())) == std::string::npos) continue;
    last = event.wall_time();
  }
  CHECK(last > before);
  run.t.learn.fit(1, 0.01);  // continues, in the same file
  CHECK(steps(shown(run.folder), "train/loss") == "1 2 3 4 5 6 7 8 9");
  CHECK(test::event_files(run.folder).size() == 1);
}

TEST_CASE("points of batches can be fewer, or none, and negative numbers are refused") {
  const TemporaryFolder first, second;
  Run third(first, {.every = 3, .config = "seed = 1\n\nlr = 2"});
  third.t.learn.fit(2, 0.01);
  const test::Tags tags = shown(third.folder);
  CHECK(steps(tags, "train/loss") == "3 6");
  CHECK(tags.at("config").at(1).tensor().string_val(0) == "    seed = 1\n    \n    lr = 2\n");
  Run none(second, {.every = 0});
  none.t.learn.fit(2, 0.01);
  CHECK(steps(shown(none.folder), "train/loss").empty());
  CHECK(steps(shown(none.folder), "epoch/train_loss") == "3 6");
  CHECK_THROWS_AS(TensorBoard({.every = -1}), UsageError);
  CHECK_THROWS_AS(TensorBoard({.histograms = -1}), UsageError);
  CHECK_THROWS_AS(TensorBoard({.images = -1}), UsageError);
}

TEST_CASE("after a resume each step is shown once, by both readers") {
  const TemporaryFolder folder;
  test::MemoryState state;
  {
    Run first(folder);
    on(
        first.t.learn,
        Event::batch_end,
        [&](Learner& l) {
          if (l.progress().training && l.progress().batch_clock == 5)
            state = test::save(first.t.ctx, l);
        },
        "save",
        1000);
    first.t.learn.fit(4, 0.01);
  }
  Run second(folder);
  test::load(second.t.ctx, state, second.t.learn);
  second.t.learn.resume();
  second.t.learn.fit(4, 0.02 / 2);
  REQUIRE(test::event_files(second.folder).size() == 2);
  const auto head = test::read_events(test::event_files(second.folder)[1]);
  CHECK(head.at(1).session_log().status() == tensorboard::proto::SessionLog::START);
  CHECK(head.at(1).step() == 6);
  for (const test::Tags& tags : {shown(second.folder), test::served(second.folder)}) {
    CHECK(steps(tags, "train/loss") == "1 2 3 4 5 6 7 8 9 10 11 12");
    CHECK(steps(tags, "epoch/train_loss") == "3 6 9 12");
    CHECK(steps(tags, "weights/weight") == "3 6 9 12");
  }
  CHECK_FALSE(fs::exists(second.folder / "former-1"));
}

TEST_CASE("the batches before a state that is saved are on the disk with it") {
  const TemporaryFolder folder;
  Run run(folder);
  std::string there;
  on(
      run.t.learn,
      Event::batch_end,
      [&](Learner& l) {
        if (l.progress().batch_clock != 2 || !there.empty()) return;
        (void)test::save(run.t.ctx, l);
        there = steps(shown(run.folder), "train/loss");
      },
      "save",
      1000);
  run.t.learn.fit(1, 0.01);
  CHECK(there == "1 2");
}

TEST_CASE("another training in the same folder puts the events of the former aside") {
  const TemporaryFolder folder;
  { Run(folder).t.learn.fit(3, 0.01); }
  Run second(folder);
  second.t.learn.fit(1, 0.01);
  CHECK(steps(shown(second.folder), "train/loss") == "1 2 3");
  CHECK(steps(test::served(second.folder), "train/loss") == "1 2 3");
  CHECK(steps(shown(second.folder / "former-1"), "epoch/train_loss") == "3 6 9");
}

TEST_CASE("a sandbox changes nothing about where the events of a training are") {
  const TemporaryFolder folder;
  { Run(folder).t.learn.fit(3, 0.01); }
  Run run(folder);
  (void)run.t.learn.lr_find({.iterations = 6});
  run.t.learn.fit(1, 0.01);
  (void)run.t.learn.lr_find({.iterations = 6});
  run.t.learn.fit(1, 0.01);
  CHECK(steps(shown(run.folder), "train/loss") == "1 2 3 4 5 6");
  CHECK(steps(shown(run.folder / "former-1"), "epoch/train_loss") == "3 6 9");
  CHECK(std::distance(fs::directory_iterator(run.folder), {}) == 2);  // one file, and that folder
}

TEST_CASE("histograms show masters and the last gradients") {
  const TemporaryFolder folder;
  NetTraining t;
  t.learn.add<Recorder>();
  t.learn.add<TensorBoard>(TensorBoardOptions{.path = folder.path(), .histograms = 2});
  t.learn.freeze_to(0);
  t.learn.params().slot(0).trainable = false;
  t.learn.fit(4, 0.01);
  const test::Tags tags = shown(folder.path());
  nn::ParamStore& params = t.learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i) {
    const std::string& name = params.info(i).name;
    CAPTURE(name);
    CHECK(steps(tags, "weights/" + name) == "6 12");
    const auto check_sum = [&](const std::string& tag, const Tensor& of) {
      const auto& histogram = tags.at(tag).at(12).histo();
      double sum = 0;
      for (const double x : values(of)) sum += x;
      CHECK(histogram.num() == static_cast<double>(of.elements()));
      CHECK(histogram.sum() == doctest::Approx(sum).epsilon(1e-12));
    };
    check_sum("weights/" + name, params.master(i));
    CHECK(tags.contains("gradients/" + name) == (i != 0));
    if (i != 0) check_sum("gradients/" + name, params.master_grad(i));
  }
  CHECK(number(tags, "not_finite/weights", 6) == 0);
  CHECK(number(tags, "not_finite/gradients", 12) == 0);
}

TEST_CASE("no histograms of gradients after a batch without an update, none at all if unwanted") {
  const TemporaryFolder first, second;
  Run skipping(first);
  on(skipping.t.learn, Event::backward_end, [](Learner& l) {
    if (l.progress().batch_clock == 5) l.skip_step();
  });
  skipping.t.learn.fit(2, 0.01);
  CHECK(steps(shown(skipping.folder), "weights/weight") == "3 6");
  CHECK(steps(shown(skipping.folder), "gradients/weight") == "3");
  Run none(second, {.histograms = 0});
  none.t.learn.fit(2, 0.01);
  CHECK(steps(shown(none.folder), "weights/weight").empty());
}

TEST_CASE("values that are not finite are counted next to the histograms, which omit them") {
  const TemporaryFolder folder;
  Run run(folder);
  on(run.t.learn, Event::epoch_end, [](Learner& l) {
    Tensor weight = l.params().master(l.params().find("weight"));
    set(weight, 0, std::nan(""));
    set(weight, 1, kInfinity);
    if (l.progress().epoch_clock == 2) set(weight, 2, -kInfinity);
  });
  run.t.train.gain_of_batch = [](std::size_t) { return 0.0; };
  run.t.learn.fit(2, 0.01);
  const test::Tags tags = shown(run.folder);
  CHECK(steps(tags, "weights/weight") == "3");  // nothing finite is left at 6
  const auto& histogram = tags.at("weights/weight").at(3).histo();
  CHECK(histogram.num() == 1);
  CHECK(std::isfinite(histogram.sum()));
  CHECK(number(tags, "not_finite/weights", 3) == 2);
  CHECK(number(tags, "not_finite/weights/weight", 3) == 2);
  CHECK(number(tags, "not_finite/weights/weight", 6) == 3);
  CHECK(steps(tags, "not_finite/weights/gain").find('3') == std::string::npos);
  CHECK(std::isnan(number(tags, "epoch/train_loss", 6)));
}

TEST_CASE("half weights are shown as their f32 masters, or as they are without masters") {
  for (const nn::Masters masters : {nn::Masters::f32, nn::Masters::none}) {
    const TemporaryFolder folder;
    NetTraining t;
    t.learn.params().set_working_dtype(DType::f16, masters);
    t.learn.add<Recorder>();
    t.learn.add<TensorBoard>(TensorBoardOptions{.path = folder.path()});
    on(t.learn, Event::batch_begin, [](Learner& l) { l.cancel(Scope::batch); });
    t.learn.fit(1, 0.01);
    const test::Tags tags = shown(folder.path());
    double sum = 0;
    const std::int64_t last = t.learn.params().size() - 1;
    const Tensor master = t.learn.params().master(last);
    CHECK(is_half(master.dtype()) == (masters == nn::Masters::none));
    for (const double x : values(master)) sum += x;
    const auto& shown_one = tags.at("weights/" + t.learn.params().info(last).name).at(3);
    CHECK(shown_one.histo().sum() == doctest::Approx(sum).epsilon(1e-6));
  }
}

namespace {

/// A training on images; `draw` sees what is drawn.
struct ImageRun {
  explicit ImageRun(const fs::path& folder, DrawSamples draw, std::int64_t images = 5)
      : data(ctx, data::load("synthetic10", {.train_limit = 40, .valid_limit = 24}), loading()),
        learn(ctx, models::make_model("small:width=2", data), data, {.report = Report::record}) {
    if (draw)
      learn.add<TensorBoard>(
          TensorBoardOptions{.path = folder, .images = images, .draw = std::move(draw)});
  }
  static data::LoadersOptions loading() {
    data::LoadersOptions options;
    options.loader.batch_size = 16;
    options.loader.workers = 0;
    return options;
  }
  Context ctx{{.device = Device::cpu(), .threads = 1}};
  data::Loaders data;
  Learner learn;
};

}  // namespace

TEST_CASE("images show the model's input and its predictions") {
  const TemporaryFolder folder;
  std::map<std::string, std::vector<std::vector<double>>> drawn, given;
  ImageRun run(
      folder.path(),
      [&](Context& ctx, const Batch& batch, const Tensor& logits, const std::string& title) {
        auto& all = drawn[title];
        for (std::int64_t i = 0; i < batch.size(); ++i) {
          all.push_back(values(batch.x.rows(i, 1)));
          all.push_back(values(logits.rows(i, 1)));
          all.push_back(
              {static_cast<double>(batch.y.span<std::int64_t>()[static_cast<std::size_t>(i)])});
        }
        return data::batch_grid(
            ctx, batch, logits, run.data.set().train.classes, run.data.normalization(), title);
      });
  on(run.learn, Event::batch_end, [&](Learner& l) {
    const std::int64_t at = 16 * l.progress().batch_in_pass;
    for (std::int64_t i = 0; i < l.batch().size(); ++i) {
      const bool training = l.progress().training;
      // The first five of each epoch; of 24 images those at 0, 4, 9, 14, 19.
      const std::int64_t all = at + i;
      const bool wanted =
          training ? all < 5 : all == 0 || all == 4 || all == 9 || all == 14 || all == 19;
      if (!wanted) continue;
      const std::int64_t clock = l.progress().epoch_clock + 1;
      auto& rows = given[training ? fmt::format("training, batch {}", l.progress().batch_clock)
                                  : fmt::format("validation, batch {}", 3 * clock)];
      rows.push_back(values(l.batch().x.rows(i, 1)));
      rows.push_back(values(l.batch().pred.value().rows(i, 1)));
      rows.push_back(
          {static_cast<double>(l.batch().y.span<std::int64_t>()[static_cast<std::size_t>(i)])});
    }
  });
  run.learn.fit(2, 0.01);
  CHECK(drawn == given);
  REQUIRE(drawn.size() == 4);
  const test::Tags tags = shown(folder.path());
  CHECK(steps(tags, "images/training") == "1 4");
  CHECK(steps(tags, "images/validation") == "3 6");
  const auto& image = tags.at("images/validation").at(6).image();
  CHECK(image.width() > 100);
  CHECK(image.encoded_image_string().starts_with("\x89PNG"));
}

TEST_CASE("a validation that is interrupted leaves no images, as it is made again") {
  const TemporaryFolder folder;
  ImageRun run(
      folder.path(),
      [&](Context& ctx, const Batch& batch, const Tensor& logits, const std::string& title) {
        return data::batch_grid(
            ctx, batch, logits, run.data.set().train.classes, run.data.normalization(), title);
      });
  on(run.learn, Event::batch_end, [](Learner& l) {
    if (!l.progress().training && l.progress().batch_in_pass == 0) l.cancel(Scope::train);
  });
  run.learn.fit(1, 0.01);
  const test::Tags tags = shown(folder.path());
  CHECK(steps(tags, "images/training") == "1");
  CHECK_FALSE(tags.contains("images/validation"));
}

TEST_CASE("a training has the same bits with it") {
  const TemporaryFolder folder;
  const auto train = [&](DrawSamples draw) {
    ImageRun run(folder.path(), std::move(draw));
    run.learn.fit_one_cycle(3, 0.05);
    auto all = values(run.learn.params().flat_master());
    for (const double x : values(run.learn.params().flat_buffers())) all.push_back(x);
    all.push_back(run.learn.results().valid_loss);
    return all;
  };
  const auto draw = [](auto&&...) {
    return plot::ImageGrid{.title = "t", .cells = {{.images = {{1, 1, {0, 0, 0}}}}}};
  };
  CHECK(train(draw) == train(nullptr));
  CHECK(steps(shown(folder.path()), "images/training") == "1 4 7");
}

TEST_CASE("without a function that draws samples, or without images, the log says so") {
  const TemporaryFolder folder;
  const test::LogFile log;
  Run(folder).t.learn.fit(1, 0.01);
  CHECK(log.count("no images: images need a function that draws samples") == 1);
  const auto never = [](auto&&...) -> plot::ImageGrid { throw std::logic_error("drawn"); };
  Run no_images(folder, {.draw = never});
  no_images.t.learn.fit(1, 0.01);
  CHECK(log.count("no images: the batches have no three colour channels") == 1);
  Run unwanted(folder, {.images = 0, .draw = never});
  unwanted.t.learn.fit(1, 0.01);
  CHECK(log.count("no images") == 2);
  ImageRun of_images(folder.path(), never, 0);
  CHECK_NOTHROW(of_images.learn.fit(1, 0.01));
}

TEST_CASE("a training that throws leaves its batches, and a loss that is not finite as it is") {
  const TemporaryFolder folder;
  Run run(folder);
  run.t.train.gain_of_batch = [](std::size_t batch) { return batch == 1 ? kInfinity : 1.0; };
  on(run.t.learn, Event::batch_begin, [](Learner& l) {
    if (l.progress().batch_clock == 2) throw std::runtime_error("thrown");
  });
  CHECK_THROWS_WITH(run.t.learn.fit(1, 0.01), "thrown");
  const test::Tags tags = shown(run.folder);
  CHECK(steps(tags, "train/loss") == "1 2");
  CHECK_FALSE(std::isfinite(number(tags, "train/loss", 2)));
}

TEST_CASE("it stays out of steps and of sandboxes, and needs a recorder") {
  const TemporaryFolder folder;
  const EventSet events = handled_by<TensorBoard>();
  for (const EventInfo& info : kEventTable) {
    if (info.scope == Scope::step || (info.scope == Scope::batch && info.role == EventRole::inside))
      CHECK_FALSE(events[index_of(info.event)]);
  }
  Run run(folder);
  CHECK_FALSE(run.t.learn.find<TensorBoard>()->runs_in_sandbox());
  Training bare;
  bare.learn.add<TensorBoard>(TensorBoardOptions{.path = folder.path()});
  CHECK_THROWS_AS(bare.learn.fit(1, 0.01), UsageError);
  Run inside(folder);
  (void)inside.t.learn.lr_find({.iterations = 6});
  CHECK_FALSE(fs::exists(inside.folder));
}

TEST_CASE("from text it writes into the folder of the run, with its configuration") {
  const TemporaryFolder folder;
  Training t{{2, 2, 2}, {2}};
  t.learn.add<Recorder>();
  add_from_text(t.learn,
                "tensorboard:path=there,every=2,histograms=0,images=0",
                {.folder = folder.path(), .metadata = {{"learn.config", "a = 1"}}});
  t.learn.fit(1, 0.01);
  const test::Tags tags = shown(folder / "there");
  CHECK(steps(tags, "train/loss") == "2");
  CHECK(tags.at("config").at(1).tensor().string_val(0) == "    a = 1\n");
  CHECK(tags.at("config").at(1).metadata().plugin_data().plugin_name() == "text");
}
