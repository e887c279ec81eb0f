#include "framework/inference/pretrained.h"

#include "data/sets/arrays.h"
#include "framework/autograd/tape.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/kernels/cast/fill.h"
#include "framework/runtime/transfer.h"
#include "models/registry.h"
#include "tests/inference/trained.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;

namespace {

using Names = std::vector<std::string>;

/// Features of 6 numbers, all of the first class.
struct Own {
  explicit Own(Names names, TargetKind kind = TargetKind::classes)
      : data(ctx, {set(names, kind), set(names, kind)}, {.loader = {.batch_size = 2}}),
        model(models::make_model("mlp:width=3", data)) {
    model.params->materialize(ctx);
  }
  static data::Dataset set(const Names& names, TargetKind kind) {
    data::Arrays arrays{.x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, .sample = {6}, .names = names};
    arrays.target_kind = kind;
    if (kind == TargetKind::classes)
      arrays.classes = {0, 1};
    else
      arrays.targets.assign(2 * names.size(), 1);
    return data::from_arrays(std::move(arrays));
  }
  /// A row of the last layer: of its weight and its bias.
  [[nodiscard]] std::vector<float> row(std::size_t i) const {
    std::vector<float> out;
    for (const char* const name : {"layers.5.weight", "layers.5.bias"}) {
      const Tensor all = model.params->master(model.params->find(name));
      const std::size_t columns =
          all.span<float>().size() / static_cast<std::size_t>(model.classes);
      const auto values = all.span<float>().subspan(i * columns, columns);
      out.insert(out.end(), values.begin(), values.end());
    }
    return out;
  }

  Context ctx{ContextOptions{.threads = 1, .seed = 5}};
  data::Loaders data;
  nn::Model model;
};

/// Writes the weights of a model for these names; of other values than a new one has.
std::unique_ptr<Own> write(const std::filesystem::path& file,
                           const Names& names,
                           TargetKind kind = TargetKind::classes,
                           bool named = true) {
  auto own = std::make_unique<Own>(names, kind);
  for (std::int64_t i = 0; i < own->model.params->size(); ++i) {
    Tensor master = own->model.params->master(i);
    for (float& value : master.span<float>()) value += 0.25F;
  }
  Metadata metadata;
  if (named)
    describe_model({.model = "mlp:width=3",
                    .classes = names,
                    .input = {},
                    .normalization = own->data.normalization(),
                    .target_kind = kind,
                    .channels = 6},
                   metadata);
  save_weights(file, *own->model.params, metadata);
  return own;
}

/// Model outputs for one sample of halves.
std::vector<float> outputs(nn::Model& model) {
  Context& ctx = model.params->context();
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  Shape shape{1};
  for (const std::int64_t extent : model.input) shape.push_back(extent);
  Tensor x = tape.empty(shape, DType::f32);
  kernels::fill(ctx, x, 0.5);
  const Tensor y = to_host(ctx, (*model.module)(tape.input(x)).value());
  return {y.span<float>().begin(), y.span<float>().end()};
}

}  // namespace

TEST_CASE("outputs follow the names of their classes in every model") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "w.safetensors";
  for (const char* const name : {"linear",
                                 "mlp:width=3",
                                 "mlp:width=3,weight_norm=true",
                                 "small:width=4",
                                 "resnet9:width=4",
                                 "resnet18:width=2",
                                 "darknet:width=2",
                                 "wrn_22:width=1"}) {
    INFO(std::string(name));
    SavedModel description = test::small_description(name);
    description.input = {32, 32};
    test::write_trained(file, description, 1.5F);
    Context ctx({.threads = 1});
    nn::Model same = description.make();
    same.params->materialize(ctx);
    CHECK(load_weights(file, same, description.classes).clean());
    const std::vector<float> was = outputs(same);
    description.classes = {"dog", "bird", "cat"};
    nn::Model turned = description.make();
    turned.params->materialize(ctx);
    const WeightsReport report = load_weights(file, turned, description.classes);
    CHECK(report.classes.differs());
    CHECK(report.classes.rows_taken);
    CHECK(outputs(turned) == std::vector<float>{was[2], was[0], was[1]});
    description.classes = {"fish", "cat"};
    nn::Model other = description.make();
    other.params->materialize(ctx);
    CHECK_THROWS_WITH_AS(
        load_weights(file, other, description.classes),
        doctest::Contains("does not have these classes of the model: 1 of 2 classes found by name: "
                          "cat; 1 new: fish; 2 in the file not used: bird, dog"),
        CheckpointError);
    CHECK(load_weights(file, other, description.classes, WeightsMatch::partial).clean());
    CHECK(outputs(other)[1] == was[1]);
  }
}

TEST_CASE("rows of new classes keep their initial values, and the log says what was found") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "w.safetensors";
  const auto theirs = write(file, {"cat", "dog", "ship"});
  Own ours({"ship", "fish", "cat"});
  const std::vector<float> fish = ours.row(1);
  const test::LogFile log;
  CHECK(load_pretrained(file, ours.model, ours.data).loaded == 6);
  CHECK(ours.row(0) == theirs->row(2));
  CHECK(ours.row(1) == fish);
  CHECK(ours.row(2) == theirs->row(0));
  CHECK(log.count(
            "2 of 3 classes found by name: ship, cat; 1 new: fish; 1 in the file not used: dog") ==
        1);
  CHECK(log.count("warn") == 0);
}

TEST_CASE("labels and real numbers have rows by their names, too") {
  const TemporaryFolder folder;
  for (const TargetKind kind : {TargetKind::labels, TargetKind::values}) {
    const auto theirs = write(folder / "w", {"red", "round"}, kind);
    Own ours({"round", "red"}, kind);
    (void)load_pretrained(folder / "w", ours.model, ours.data);
    CHECK(ours.row(0) == theirs->row(1));
    CHECK(ours.row(1) == theirs->row(0));
  }
}

TEST_CASE("different classes leave the last layer unchanged, with a warning") {
  const TemporaryFolder folder;
  const auto theirs = write(folder / "w", {"cat", "dog"});
  Own ours({"ship", "car"});
  const auto initial = ours.row(0);
  const test::LogFile log;
  (void)load_pretrained(folder / "w", ours.model, ours.data);
  CHECK(ours.row(0) == initial);
  CHECK(log.count("shares no class with the data, so the last layer keeps its initial values: 0 of "
                  "2 classes found by name; 2 new: ship, car; 2 in the file not used: cat, dog") ==
        1);
}

TEST_CASE("a file without names of classes is taken in its order, with a warning") {
  const TemporaryFolder folder;
  const auto theirs = write(folder / "w", {"cat", "dog"}, TargetKind::classes, false);
  Own ours({"dog", "cat"});
  const test::LogFile log;
  (void)load_pretrained(folder / "w", ours.model, ours.data);
  CHECK(ours.row(0) == theirs->row(0));
  CHECK(log.count("does not name its classes: using the rows of the last layer in the order of the "
                  "classes") == 1);
  // Nothing was taken where the number is another one: that is said as for any other layer.
  Own more({"dog", "cat", "ship"});
  (void)load_pretrained(folder / "w", more.model, more.data);
  CHECK(log.count("does not name its classes") == 1);
  CHECK(log.count("some tensors do not match and keep their initial values:") == 1);
}

TEST_CASE("weights for the same classes are loaded without a message") {
  const TemporaryFolder folder;
  const auto theirs = write(folder / "w", {"cat", "dog"});
  Own ours({"cat", "dog"});
  const test::LogFile log;
  (void)load_pretrained(folder / "w", ours.model, ours.data);
  CHECK(ours.row(1) == theirs->row(1));
  CHECK(log.count("classes") == 0);
  CHECK(log.count("6 tensors from") == 1);
}

TEST_CASE("a different normalization gives a warning") {
  const TemporaryFolder folder;
  SavedModel description = test::small_description("linear");
  test::write_trained(folder / "w.safetensors", description);
  Context ctx({.threads = 1});
  data::Arrays arrays{.sample = {8, 12, 3}, .classes = {0, 1, 2}, .names = description.classes};
  arrays.bytes.assign(3 * 8 * 12 * 3, 7);
  const data::Dataset set = data::from_arrays(std::move(arrays));
  const auto warned = [&](const data::Normalization& normalization) {
    data::Loaders data(ctx, {set, set}, {.augment = "none", .normalization = normalization});
    nn::Model model = models::make_model("linear", data);
    model.params->materialize(ctx);
    const test::LogFile log;
    (void)load_pretrained(folder / "w.safetensors", model, data);
    return log.count(
        "with a different mean and standard deviation: 0.5:0.4:0.3:0.2:0.25:0.3, here "
        "0.5:0.5:0.5:1:1:1; to use the same: --normalize 0.5:0.4:0.3:0.2:0.25:0.3");
  };
  CHECK(warned({{0.5F, 0.5F, 0.5F}, {1, 1, 1}}) == 1);
  CHECK(warned(description.normalization) == 0);
}
