#include "data/show/show_batch.h"

#include "data/loading/augmentation.h"
#include "data/show/dataset_image.h"
#include "data/show/predictions_grid.h"
#include "framework/core/error.h"
#include "framework/tensor/host_tensor.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;
using namespace learn::data;

namespace {

LoaderOptions augmented() {
  LoaderOptions options;
  options.batch_size = 4;
  options.shuffle = true;
  options.workers = 0;
  options.seed = 7;
  options.normalization = kCifarStats;
  options.transforms = augmentation("full", 8, 8);
  return options;
}

}  // namespace

TEST_CASE("show_batch shows what a training sees, as it is and augmented") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  const Dataset set = test::small_set(20, 8, 8, 3);
  Loader loader(ctx, set, augmented());
  const plot::ImageGrid grid = show_batch(loader, {.images = 6, .versions = 2, .epoch = 1});
  REQUIRE(grid.cells.size() == 6);
  loader.begin(1);
  Batch batch;
  std::size_t at = 0;
  while (at < grid.cells.size()) {
    REQUIRE(loader.next(batch));
    const Tensor seen = denormalize(ctx, batch, kCifarStats);
    const auto values = seen.span<float>();
    for (std::size_t i = 0; i < batch.index.size() && at < grid.cells.size(); ++i, ++at) {
      const plot::GridCell& cell = grid.cells[at];
      CAPTURE(at);
      REQUIRE(cell.images.size() == 3);
      CHECK(cell.images[0].rgb == image_of(set, batch.index[i]).rgb);
      constexpr std::size_t kValues = std::size_t{8} * 8 * 3;
      int wrong = 0;
      for (std::size_t v = 0; v < kValues; ++v)
        wrong += std::abs(static_cast<float>(cell.images[1].rgb[v]) -
                          255 * values[i * kValues + v]) > 0.6F;
      CHECK(wrong == 0);
      CHECK(cell.images[1].rgb != cell.images[2].rgb);  // of the next epoch
      REQUIRE(cell.caption.size() == 1);
      CHECK(cell.caption[0].text == set.classes[static_cast<std::size_t>(
                                        set.labels[static_cast<std::size_t>(batch.index[i])])]);
    }
  }
  CHECK(grid.title == set.name + ": training images");
  CHECK(grid.subtitle ==
        "as they are, and in epochs 2 to 3: pad:pixels=1|crop|flip|cutout:length=2");
}

TEST_CASE("show_batch of a loader that does not augment shows each image once") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  Dataset set = test::small_set(5, 8, 8);
  set.split = Split::test;
  set.synthetic = true;
  const Loader loader(ctx, set, {.batch_size = 2, .workers = 0});
  const plot::ImageGrid grid = show_batch(loader, {.images = 100});
  REQUIRE(grid.cells.size() == 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    const plot::GridCell& cell = grid.cells[static_cast<std::size_t>(i)];
    REQUIRE(cell.images.size() == 1);
    CHECK(cell.images[0].rgb == image_of(set, i).rgb);
  }
  const plot::ImageGrid spread = show_batch(loader, {.images = 2});
  CHECK(spread.cells.at(1).images.at(0).rgb == image_of(set, 2).rgb);
  CHECK(grid.title == set.name + " (synthetic): validation images");
  CHECK(grid.subtitle == "not augmented");
  CHECK_THROWS_AS((void)show_batch(loader, {.images = 0}), UsageError);
  CHECK_THROWS_AS((void)show_batch(loader, {.versions = 0}), UsageError);
  CHECK_THROWS_AS((void)image_of(set, 5), UsageError);
}

TEST_CASE("show_batch draws grey images and floats, but no features") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  Dataset set{.name = "grey", .height = 1, .width = 2, .channels = 1, .classes = {"a"}};
  set.pixels = {7, 200};
  set.labels = {0};
  const auto shown = [&] {
    const Loader loader(
        ctx, set, {.workers = 0, .normalization = measure(set), .transforms = {FlipLr{1}}});
    return show_batch(loader, {.versions = 1}).cells.at(0).images;
  };
  using Bytes = std::vector<std::uint8_t>;
  CHECK(shown().at(0).rgb == Bytes{7, 7, 7, 200, 200, 200});
  CHECK(shown().at(1).rgb == Bytes{200, 200, 200, 7, 7, 7});
  set.pixels.clear();
  set.channels = 4;
  set.features = {-2, 0, 2, 2, 0, 2, -2, 2};  // drawn from the least to the largest
  CHECK(shown().at(0).rgb == Bytes{0, 128, 255, 128, 255, 0});
  CHECK(shown().at(1).rgb == Bytes{128, 255, 0, 0, 128, 255});
  set.height = set.width = 0;
  set.channels = 8;
  const Loader loader(ctx, set, {.workers = 0});
  CHECK_THROWS_WITH_AS((void)show_batch(loader),
                       "'grey' has no images to draw: each sample is 8 numbers",
                       UsageError);
}

TEST_CASE("show_batch names labels and values") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  Dataset set = test::small_set(3, 4, 4);
  set.labels.clear();
  set.target_kind = TargetKind::labels;
  set.classes = {"a", "b", "c", "d"};
  set.targets = {0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  const auto captions = [&] {
    const Loader loader(ctx, set, {.workers = 0});
    std::vector<std::string> texts;
    for (const plot::GridCell& cell : show_batch(loader).cells)
      texts.push_back(cell.caption.at(0).text);
    return texts;
  };
  CHECK(captions() == std::vector<std::string>{"b, c", "no label", "a, b, c, ..."});
  set.target_kind = TargetKind::values;
  set.classes = {"height", "width"};
  set.targets = {0.5F, 1, 2, 3, 4, -1e6F};
  CHECK(captions() == std::vector<std::string>{
                          "height 0.5, width 1", "height 2, width 3", "height 4, width -1e+06"});
}

TEST_CASE("transforms in words") {
  CHECK(describe({}).empty());
  CHECK(describe({FlipLr{0.25F}, Pad{3, PadMode::zero}, RandomCrop{24}, CenterCrop{}}) ==
        "flip:p=0.25|pad:pixels=3,mode=zero|crop:size=24|center_crop");
  CHECK(describe({Cutout{8, 2}, PixelTransform{}}) == "cutout:holes=2|a custom function");
}

TEST_CASE("a gallery shows the true class, the prediction and its probability") {
  const Dataset set = test::small_set(4, 8, 8, 2);  // labels 0 1 0 1
  const std::vector<JudgedImage> judged{{.index = 0, .outputs = {0.972, 0.028}},
                                        {.index = 3, .outputs = {0.99999, 0.00001}},
                                        {.index = 2, .outputs = {NAN, NAN}},
                                        {.index = 1, .outputs = {0, 1}}};
  const plot::ImageGrid grid = predictions_grid(set, judged, "a run");
  CHECK(grid.title == "a run");
  REQUIRE(grid.cells.size() == 4);
  const auto caption = [&](std::size_t cell, std::size_t line) {
    return grid.cells[cell].caption.at(line);
  };
  CHECK(grid.cells[1].images.at(0).rgb == image_of(set, 3).rgb);
  CHECK(caption(0, 0).text == set.classes[0]);
  CHECK(caption(0, 1).text == set.classes[0] + " 97 %");
  CHECK(caption(0, 1).color == plot::kRight);
  CHECK(caption(1, 0).text == set.classes[1]);
  CHECK(caption(1, 1).text == set.classes[0] + " >99.9 %");
  CHECK(caption(1, 1).color == plot::kWrong);
  CHECK(caption(2, 1).text == "NaN");
  CHECK(caption(2, 1).color == plot::kWrong);
  CHECK(caption(3, 1).text == set.classes[1] + " 100 %");
  CHECK_THROWS_AS((void)predictions_grid(set, std::vector<JudgedImage>{{.index = 4}}, ""),
                  UsageError);
  CHECK_THROWS_WITH_AS(
      (void)predictions_grid(set, std::vector<JudgedImage>{{.index = 0, .outputs = {1}}}, ""),
      doctest::Contains("'small' has 2 classes, but the model made 1 outputs for image 0"),
      UsageError);
}

TEST_CASE("a gallery of a batch shows the model's input and its predictions") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  const Dataset set = test::small_set(4, 8, 8, 2);  // labels 0 1 0 1
  Loader loader(ctx, set, {.batch_size = 4, .workers = 0, .normalization = kCifarStats});
  Batch batch;
  loader.begin(0);
  REQUIRE(loader.next(batch));
  const std::vector<float> logits{2, 0, 2, 0, NAN, 0, 0, 30};
  const Tensor on_host = host_tensor<float>({4, 2}, logits);
  const auto grid = batch_grid(ctx, batch, on_host, set.classes, kCifarStats, "first");
  CHECK(grid.title == "first");
  CHECK(grid.subtitle.starts_with("true class; predicted class"));
  REQUIRE(grid.cells.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const plot::GridCell& cell = grid.cells[i];
    CHECK(cell.images.at(0).rgb == image_of(set, batch.index[i]).rgb);
    CHECK(cell.caption.at(0).text == set.classes[i % 2]);
  }
  CHECK(grid.cells[0].caption.at(1).text == set.classes[0] + " 88 %");
  CHECK(grid.cells[0].caption.at(1).color == plot::kRight);
  CHECK(grid.cells[1].caption.at(1).text == set.classes[0] + " 88 %");
  CHECK(grid.cells[1].caption.at(1).color == plot::kWrong);
  CHECK(grid.cells[2].caption.at(1).text == "NaN");
  CHECK(grid.cells[3].caption.at(1).text == set.classes[1] + " >99.9 %");

  const auto drawn = [&](const Tensor& of) {
    return batch_grid(ctx, batch, of, set.classes, kCifarStats, "");
  };
  CHECK_THROWS_WITH_AS(drawn(on_host.rows(0, 3)), doctest::Contains("for 4 images"), ShapeError);
  batch.y.span<std::int64_t>()[2] = 2;
  CHECK_THROWS_WITH_AS(
      drawn(on_host), doctest::Contains("class 2 does not exist; there are 2 classes"), UsageError);
  batch.y = {};
  CHECK(drawn(on_host).subtitle == "predicted class and its probability");
  CHECK(drawn(on_host).cells[1].caption.size() == 1);
}

TEST_CASE("top losses come the largest first, and NaN before them") {
  const Dataset set = test::small_set(4, 8, 8, 2);
  const std::vector<JudgedImage> judged{{.index = 0, .outputs = {0.4, 0.6}, .loss = 0.9},
                                        {.index = 1, .outputs = {0.996, 0.004}, .loss = 5.52},
                                        {.index = 2, .outputs = {NAN, NAN}},
                                        {.index = 3, .outputs = {0.6, 0.4}, .loss = 0.9}};
  const plot::ImageGrid grid = top_losses_grid(set, judged, 3, "worst");
  REQUIRE(grid.cells.size() == 3);
  CHECK(grid.cells[0].images[0].rgb == image_of(set, 2).rgb);
  CHECK(grid.cells[0].caption.at(2).text == "loss NaN");
  CHECK(grid.cells[1].caption.at(0).text == set.classes[0] + " 99.6 %");
  CHECK(grid.cells[1].caption.at(1).text == "is " + set.classes[1] + " 0.4 %");
  CHECK(grid.cells[1].caption.at(2).text == "loss 5.52");
  CHECK(grid.cells[2].images[0].rgb == image_of(set, 0).rgb);  // of two alike the first
  CHECK(top_losses_grid(set, judged, 100, "").cells.size() == 4);
  CHECK(grid.cells[0].source == "image 2");  // a set without files
  Dataset filed = test::small_set(4, 8, 8, 2);
  filed.files = {"a/0.png", "a/1.png", "z.zip/b/2.png", "z.zip/b/3.png"};
  const plot::ImageGrid named = top_losses_grid(filed, judged, 3, "worst");
  CHECK(named.cells[0].source == "z.zip/b/2.png");
  CHECK(named.cells[1].source == "a/1.png");
  CHECK(named.cells[2].source == "a/0.png");
}

namespace {

/// "+" before what is right, "-" before what is wrong.
std::vector<std::string> marked(const plot::GridCell& cell) {
  std::vector<std::string> lines;
  for (const plot::CaptionLine& line : cell.caption)
    lines.push_back((line.color == plot::kRight   ? "+"
                     : line.color == plot::kWrong ? "-"
                                                  : "") +
                    line.text);
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("galleries of several labels mark each that is right, wrong or missed") {
  Dataset set = test::small_set(3, 4, 4);
  set.labels.clear();
  set.target_kind = TargetKind::labels;
  set.classes = {"a", "b", "c", "d", "e"};
  set.targets = {0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  const std::vector<JudgedImage> judged{
      {.index = 0, .outputs = {0.9, 0.8, 0.3, 0.5, 0.1}, .loss = 3},
      {.index = 1, .outputs = {0, 0, 0, 0, 0}, .loss = 1},
      {.index = 2, .outputs = {0.9, 0.9, 0.4, 0.9, 0.9}, .loss = 2}};
  const plot::ImageGrid grid = predictions_grid(set, judged, "");
  CHECK(grid.subtitle.starts_with("true labels; predicted labels"));
  CHECK(marked(grid.cells[0]) == Lines{"b, c", "-a 90 %", "-not c 30 %", "+b 80 %"});
  CHECK(marked(grid.cells[1]) == Lines{"no label", "+no label"});
  CHECK(marked(grid.cells[2]) ==
        Lines{"a, b, c, d, e", "-not c 40 %", "+a 90 %", "+b 90 %", "and 2 more"});
  CHECK(marked(predictions_grid(set, judged, "", 0.35).cells[2]).at(1) == "+a 90 %");
  const plot::ImageGrid worst = top_losses_grid(set, judged, 2, "");
  CHECK(marked(worst.cells[0]) == Lines{"-a 90 %", "-not c 30 %", "+b 80 %", "is b, c", "loss 3"});
  CHECK(worst.subtitle.ends_with("; true labels; loss"));
  const std::vector<JudgedImage> nan{{.index = 0, .outputs = {NAN, 0, 0, 0, 0}}};
  CHECK(marked(top_losses_grid(set, nan, 1, "").cells[0]) == Lines{"-NaN", "is b, c", "loss NaN"});
  const std::vector<JudgedImage> short_one{{.index = 0, .outputs = {1}}};
  CHECK_THROWS_WITH_AS(
      (void)predictions_grid(set, short_one, ""),
      doctest::Contains("'small' has 5 targets each, but the model made 1 outputs for image 0"),
      UsageError);
}

TEST_CASE("galleries of real numbers show the predicted and the true value next to each other") {
  Dataset set = test::small_set(2, 4, 4);
  set.labels.clear();
  set.target_kind = TargetKind::values;
  set.classes = {"x", "y"};
  set.targets = {0.5F, 1, 2, 3};
  const std::vector<JudgedImage> judged{{.index = 1, .outputs = {2.25, -1e6}, .loss = 7},
                                        {.index = 0, .outputs = {NAN, 1}}};
  const plot::ImageGrid grid = predictions_grid(set, judged, "");
  CHECK(grid.subtitle == "predicted value and the true one");
  CHECK(marked(grid.cells[0]) == Lines{"x 2.25, is 2", "y -1e+06, is 3"});
  CHECK(marked(top_losses_grid(set, judged, 1, "").cells[0]) ==
        Lines{"x NaN, is 0.5", "y 1, is 1", "loss NaN"});
}

TEST_CASE("a gallery of a batch supports labels and values, and samples without targets") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  Dataset set = test::small_set(2, 4, 4);
  set.labels.clear();
  set.target_kind = TargetKind::labels;
  set.classes = {"a", "b"};
  set.targets = {0, 1, 1, 0};
  Loader loader(ctx, set, {.batch_size = 2, .workers = 0});
  Batch batch;
  loader.begin(0);
  REQUIRE(loader.next(batch));
  const std::vector<float> outputs{2, 2, -2, -2};
  const Tensor on_host = host_tensor<float>({2, 2}, outputs);
  const auto drawn = [&](TargetKind kind) {
    return batch_grid(ctx, batch, on_host, set.classes, {}, "", kind);
  };
  CHECK(marked(drawn(TargetKind::labels).cells[0]) == Lines{"b", "-a 88 %", "+b 88 %"});
  CHECK(marked(drawn(TargetKind::labels).cells[1]) == Lines{"a", "-not a 12 %"});
  CHECK(marked(drawn(TargetKind::values).cells[1]) == Lines{"a -2, is 1", "b -2, is 0"});
  // Shares of classes are not the number of a class.
  CHECK(marked(drawn(TargetKind::classes).cells[0]) == Lines{"+a 50 %"});
  batch.y = {};
  CHECK(marked(drawn(TargetKind::labels).cells[0]) == Lines{"+a 88 %", "+b 88 %"});
  CHECK(marked(drawn(TargetKind::values).cells[1]) == Lines{"a -2", "b -2"});
  CHECK(drawn(TargetKind::values).subtitle == "predicted value");
  CHECK(drawn(TargetKind::labels).subtitle == "predicted labels and their probabilities");
}
