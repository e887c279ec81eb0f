#include "framework/io/checkpoint.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/nn/param_store.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/compare.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

using namespace learn;

namespace {

struct Parts {
  Arena arena{"test", cpu_pages()};
  Tensor momentum = zeros(arena, {3}, DType::f32);
  std::int64_t step = 0;
  double scale = 0;
  bool warm = false;
  std::string order;
  bool more = false;  ///< asks for one more value and one more tensor

  void visit_state(StateVisitor& visitor) {
    const StateVisitor::Scope scope(visitor, "optimizer");
    visitor.visit("momentum", momentum);
    visitor.visit("step", step);
    visitor.visit("scale", scale);
    visitor.visit("warm", warm);
    visitor.visit("order", order);
    if (!more) return;
    visitor.visit("more", step);
    visitor.visit("more_values", momentum);
  }
};

void count_up(Tensor& values, std::uint64_t, std::uint64_t) {
  for (std::int64_t i = 0; i < values.elements(); ++i) set(values, i, static_cast<double>(i));
}

/// A store like a small network's: a convolution of 2 filters of 2x3 taps over 2 channels, a norm,
/// a classifier.
struct Net {
  Context ctx{ContextOptions{.threads = 1}};
  nn::ParamStore store;
  explicit Net(std::int64_t classes = 2, const std::string& head = "fc") {
    store.declare("conv.weight", {2, 2, 3, 2}, nn::ParamRole::weight, count_up);
    store.declare("bn.weight", {2}, nn::ParamRole::norm_weight, count_up);
    store.declare(head + ".weight", {classes, 2}, nn::ParamRole::weight, count_up);
    store.declare_buffer("bn.running_mean", {2}, 0.5);
    store.declare_buffer("bn.running_var", {2}, 1);
    store.materialize(ctx);
  }
  [[nodiscard]] std::vector<double> values(const std::string& name) const {
    const Tensor tensor = store.master(store.find(name));
    std::vector<double> out;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(get(tensor, i));
    return out;
  }
};

}  // namespace

TEST_CASE("state comes back bit for bit") {
  const TemporaryFolder folder;
  Parts saved;
  for (std::int64_t i = 0; i < 3; ++i) set(saved.momentum, i, 0.1 * static_cast<double>(i + 1));
  saved.step = -123456789012345;
  saved.scale = 0.1 + 0.2;  // has no short decimal form
  saved.warm = true;
  saved.order = "a=1\n\"b\"";
  save_state(folder / "s", [&](StateVisitor& v) { saved.visit_state(v); }, {{"learn.epoch", "3"}});

  Parts loaded;
  const Metadata metadata =
      load_state(folder / "s", [&](StateVisitor& v) { loaded.visit_state(v); });
  CHECK(metadata.at("learn.epoch") == "3");
  CHECK(metadata.at("learn.kind") == "train");
  for (std::int64_t i = 0; i < 3; ++i) CHECK(get(loaded.momentum, i) == get(saved.momentum, i));
  CHECK(loaded.step == saved.step);
  CHECK(loaded.scale == saved.scale);
  CHECK(loaded.warm);
  CHECK(loaded.order == saved.order);
}

TEST_CASE("numbers that are not finite survive too") {
  const TemporaryFolder folder;
  Parts saved;
  Parts loaded;
  for (const double value :
       std::vector<double>{INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308}) {
    saved.scale = value;
    save_state(folder / "s", [&](StateVisitor& v) { saved.visit_state(v); });
    load_state(folder / "s", [&](StateVisitor& v) { loaded.visit_state(v); });
    CHECK(loaded.scale == value);
  }
}

TEST_CASE("state of another shape, missing and left-over state are named") {
  const TemporaryFolder folder;
  Parts parts;
  const auto visit = [&](StateVisitor& v) { parts.visit_state(v); };
  save_state(folder / "s", visit);
  parts.more = true;
  CHECK_THROWS_WITH_AS(
      load_state(folder / "s", visit),
      doctest::Contains("missing in the file: 'optimizer.more' 'optimizer.more_values'"),
      CheckpointError);
  save_state(folder / "more", visit);
  parts.more = false;
  CHECK_THROWS_WITH_AS(load_state(folder / "more", visit),
                       doctest::Contains("not used here: 'optimizer.more_values' 'optimizer.more'"),
                       CheckpointError);
  parts.momentum = zeros(parts.arena, {4});
  CHECK_THROWS_WITH_AS(
      load_state(folder / "s", visit),
      doctest::Contains("'optimizer.momentum' is (3) f32 in the file, (4) f32 here"),
      CheckpointError);
  parts.momentum = zeros(parts.arena, {3}, DType::f64);
  CHECK_THROWS_WITH_AS(
      load_state(folder / "s", visit),
      doctest::Contains("'optimizer.momentum' is (3) f32 in the file, (3) f64 here"),
      CheckpointError);
  parts.momentum = test::on_other_device({3});
  CHECK_THROWS_WITH_AS(load_state(folder / "s", visit),
                       doctest::Contains("'optimizer.momentum' must be loaded to the host first"),
                       DeviceError);
}

TEST_CASE("a number followed by other text is refused") {
  const TemporaryFolder folder;
  std::string text = "12x";
  save_state(folder / "s", [&](StateVisitor& v) { v.visit("step", text); });
  std::int64_t step = 0;
  CHECK_THROWS_WITH_AS(load_state(folder / "s", [&](StateVisitor& v) { v.visit("step", step); }),
                       doctest::Contains("'step' is not a number: '12x'"),
                       CheckpointError);
}

TEST_CASE("weights have PyTorch's names and layout") {
  const TemporaryFolder folder;
  Net net;
  save_weights(folder / "w", net.store);
  const SafetensorsFile file(folder / "w");
  CHECK(file.metadata().at("format") == "pt");
  const TensorEntry& entry = file.tensors().at("conv.weight");
  CHECK(entry.shape == Shape{2, 2, 2, 3});  // OIHW
  std::vector<float> values(24);
  file.read(entry, std::as_writable_bytes(std::span(values)));
  // Ours is (filter, row, tap, channel) counted up; by hand, channel before tap:
  CHECK(values == std::vector<float>{0,  2,  4,  6,  8,  10, 1,  3,  5,  7,  9,  11,
                                     12, 14, 16, 18, 20, 22, 13, 15, 17, 19, 21, 23});
  CHECK(file.tensors().at("bn.running_var").shape == Shape{2});
  CHECK(file.tensors().at("bn.num_batches_tracked").dtype == DType::i64);
}

TEST_CASE("weights come back, in a half model too") {
  const TemporaryFolder folder;
  Net saved;
  saved.store.buffer(0).value.span<float>()[1] = 9;
  save_weights(folder / "w", saved.store);
  Net loaded;
  loaded.store.set_working_dtype(DType::f16);
  for (std::int64_t i = 0; i < loaded.store.size(); ++i) {
    Tensor master = loaded.store.master(i);
    for (std::int64_t k = 0; k < master.elements(); ++k) set(master, k, -1);
  }
  loaded.store.refresh_working();
  const WeightsReport report = load_weights(folder / "w", loaded.store);
  CHECK(report.clean());
  CHECK(report.loaded == 5);
  for (const char* const name : {"conv.weight", "bn.weight", "fc.weight"})
    CHECK(loaded.values(name) == saved.values(name));
  CHECK(get(loaded.store.buffer(0).value, 1) == 9);
  CHECK(get(loaded.store.slot(0).value, 11) == 11);  // the working copy followed
  // A skipped step goes back to what is committed.
  CHECK(same_bits(loaded.store.flat_committed_buffers(), loaded.store.flat_buffers()));
}

TEST_CASE("weight norm's parameters have PyTorch's shapes and are read by its newer names too") {
  const TemporaryFolder folder;
  const auto make = [](Context& ctx, nn::ParamStore& store) {
    store.declare("conv.weight_g", {2, 1, 1, 1}, nn::ParamRole::weight_length, count_up);
    store.declare("conv.weight_v", {2, 2, 3, 2}, nn::ParamRole::weight, count_up);
    store.materialize(ctx);
  };
  Context ctx{{.threads = 1}};
  nn::ParamStore saved;
  make(ctx, saved);
  save_weights(folder / "old", saved);
  const SafetensorsFile old_names(folder / "old");
  std::vector<NamedTensor> tensors;
  Arena arena("test", cpu_pages());
  for (const auto& [name, entry] : old_names.tensors()) {
    const std::string newer = name.ends_with("_g") ? "original0" : "original1";
    Tensor copy(arena, entry.shape, DType::f32);
    old_names.read(entry, std::as_writable_bytes(copy.span<float>()));
    tensors.push_back({"conv.parametrizations.weight." + newer, copy});
  }
  CHECK(old_names.tensors().at("conv.weight_g").shape == Shape{2, 1, 1, 1});
  write_safetensors(folder / "new", tensors, {});
  for (const char* file : {"old", "new"}) {
    CAPTURE(file);
    nn::ParamStore loaded;
    make(ctx, loaded);
    for (std::int64_t i = 0; i < loaded.flat_size(); ++i) set(loaded.flat_master(), i, -1);
    CHECK(load_weights(folder / file, loaded).clean());
    for (std::int64_t i = 0; i < saved.size(); ++i)
      CHECK(same_bits(loaded.master(i), saved.master(i)));
  }
}

TEST_CASE("weights of another model are refused with the differences, nothing is written") {
  const TemporaryFolder folder;
  Net ten(10);
  save_weights(folder / "ten", ten.store);
  Net two(2);
  CHECK_THROWS_WITH_AS(load_weights(folder / "ten", two.store),
                       doctest::Contains("fc.weight is f32 (10,2), here (2,2)"),
                       CheckpointError);
  Net renamed(2, "head");
  CHECK_THROWS_WITH_AS(load_weights(folder / "ten", renamed.store),
                       doctest::Contains("missing in the file (1): head.weight"),
                       CheckpointError);

  Tensor conv = two.store.master(0);
  set(conv, 0, 77);
  const WeightsReport report = load_weights(folder / "ten", two.store, WeightsMatch::partial);
  CHECK(report.loaded == 4);
  CHECK(report.mismatched.size() == 1);
  CHECK(get(conv, 0) == 0);
  CHECK(two.values("fc.weight") == std::vector<double>{0, 1, 2, 3});

  Net other(2);
  write_safetensors(folder / "alien",
                    std::vector<NamedTensor>{{"x", zeros(other.ctx.persistent(), {1})}});
  CHECK_THROWS_WITH_AS(load_weights(folder / "alien", other.store, WeightsMatch::partial),
                       doctest::Contains("nothing in"),
                       CheckpointError);
}

TEST_CASE(
    "weights that are not finite are loaded, with one warning that names a tensor and counts") {
  const TemporaryFolder folder;
  const auto warnings = [&](auto&& run) {
    log::set_file((folder / "log").string());
    run();
    log::set_file("");
    std::string text = read_text_file(folder / "log");
    std::filesystem::remove(folder / "log");
    return text;
  };
  Net saved;
  save_weights(folder / "good", saved.store);
  Net loaded;
  CHECK(warnings([&] { load_weights(folder / "good", loaded.store); }).empty());
  Tensor conv = saved.store.master(0);
  set(conv, 3, NAN);
  set(conv, 5, -INFINITY);
  saved.store.buffer(0).value.span<float>()[1] = INFINITY;
  save_weights(folder / "bad", saved.store);
  const std::string text = warnings([&] { load_weights(folder / "bad", loaded.store); });
  CAPTURE(text);
  CHECK(text.find("bad': 2 of the 24 values of 'conv.weight' are NaN or infinite, and some of 1 "
                  "more tensors\n") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(std::isnan(loaded.values("conv.weight")[3]));
}

TEST_CASE("only the model in a training's state must be finite") {
  const TemporaryFolder folder;
  Arena arena{"test", cpu_pages()};
  Tensor weight = zeros(arena, {4}, DType::f32);
  Tensor losses = zeros(arena, {4}, DType::f64);
  const auto visit = [&](StateVisitor& v) {
    v.visit("recorder.losses", losses);
    const StateVisitor::Scope scope(v, "model");
    v.visit("weight", weight);
  };
  const auto logged = [&] {
    save_state(folder / "s", visit);
    log::set_file((folder / "log").string());
    load_state(folder / "s", visit);
    log::set_file("");
    std::string text = read_text_file(folder / "log");
    std::filesystem::remove(folder / "log");
    return text;
  };
  set(losses, 1, NAN);
  CHECK(logged().empty());
  set(weight, 2, NAN);
  CHECK(logged().find("1 of the 4 values of 'model.weight' are NaN or infinite\n") !=
        std::string::npos);
}

namespace {

/// A layer with a plain weight, or with weight norm's two parameters, and a BatchNorm.
struct Layer {
  Context ctx{ContextOptions{.threads = 1}};
  nn::ParamStore store;
  explicit Layer(bool weight_norm) {
    const auto small = [](Tensor& values, std::uint64_t, std::uint64_t) {
      for (std::int64_t i = 0; i < values.elements(); ++i) set(values, i, 0.5);
    };
    if (weight_norm) {
      store.declare("fc.weight_g", {2, 1}, nn::ParamRole::weight_length, small);
      store.declare("fc.weight_v", {2, 2}, nn::ParamRole::weight, small);
    } else {
      store.declare("fc.weight", {2, 2}, nn::ParamRole::weight, small);
    }
    store.declare_buffer("bn.running_var", {2}, 1);
    store.materialize(ctx);
  }
  [[nodiscard]] std::vector<float> values(const std::string& name) const {
    const Tensor tensor = store.master(store.find(name));
    return {tensor.span<float>().begin(), tensor.span<float>().end()};
  }
};

NamedTensor named(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  return {name, host_tensor<float>(shape, values)};
}

const NamedTensor kVariance = named("bn.running_var", {2}, {1, 2});

}  // namespace

TEST_CASE("a plain weight becomes weight norm's two parameters, and they a plain weight") {
  const TemporaryFolder folder;
  write_safetensors(folder / "plain",
                    std::vector{named("fc.weight", {2, 2}, {3, 4, 0, 0}), kVariance});
  Layer normed(true);
  CHECK(load_weights(folder / "plain", normed.store).clean());
  CHECK(normed.values("fc.weight_g") == std::vector<float>{5, 0});
  // A row of zeros has no direction: it keeps the one that it had.
  CHECK(normed.values("fc.weight_v") == std::vector<float>{3, 4, 0.5F, 0.5F});
  for (const bool newer : {false, true}) {
    const std::string stem = newer ? "fc.parametrizations.weight.original" : "fc.weight_";
    write_safetensors(folder / "normed",
                      std::vector{named(stem + (newer ? "0" : "g"), {2, 1}, {10, 3}),
                                  named(stem + (newer ? "1" : "v"), {2, 2}, {3, 4, 0, 0}),
                                  kVariance});
    Layer plain(false);
    CHECK(load_weights(folder / "normed", plain.store).clean());
    CHECK(plain.values("fc.weight") == std::vector<float>{6, 8, 0, 0});
  }
  // One of the two parameters alone is not enough, and lengths for other rows do not fit.
  write_safetensors(folder / "half",
                    std::vector{named("fc.weight_v", {2, 2}, {3, 4, 0, 0}), kVariance});
  Layer plain(false);
  CHECK_THROWS_WITH_AS(load_weights(folder / "half", plain.store),
                       doctest::Contains("missing in the file (1): fc.weight"),
                       CheckpointError);
  write_safetensors(folder / "rows",
                    std::vector{named("fc.weight_g", {3, 1}, {1, 2, 3}),
                                named("fc.weight_v", {2, 2}, {3, 4, 0, 0}),
                                kVariance});
  CHECK_THROWS_WITH_AS(load_weights(folder / "rows", plain.store),
                       doctest::Contains("different shapes (1): fc.weight"),
                       CheckpointError);
}

TEST_CASE("prefixes of wrapped models are removed from names") {
  const TemporaryFolder folder;
  const auto loads = [&](const std::string& weight, const std::string& variance) {
    const std::vector<std::int64_t> none{0};
    write_safetensors(folder / "w",
                      std::vector{named(weight, {2, 2}, {1, 2, 3, 4}),
                                  named(variance, {2}, {1, 2}),
                                  NamedTensor{"n_averaged", host_tensor<std::int64_t>({}, none)}});
    Layer layer(false);
    try {
      return load_weights(folder / "w", layer.store).clean() && layer.values("fc.weight")[3] == 4;
    } catch (const CheckpointError&) {
      return false;
    }
  };
  CHECK(loads("fc.weight", "bn.running_var"));
  CHECK(loads("module.fc.weight", "module.bn.running_var"));
  CHECK(loads("_orig_mod.fc.weight", "_orig_mod.bn.running_var"));
  CHECK(loads("module._orig_mod.fc.weight", "module._orig_mod.bn.running_var"));
  CHECK(loads("_orig_mod.module.fc.weight", "_orig_mod.module.bn.running_var"));
  CHECK(loads("model.net.fc.weight", "model.net.bn.running_var"));
  CHECK(loads("fc._orig_mod.weight", "bn.running_var"));
  CHECK(loads("_fsdp_wrapped_module.fc.weight", "bn._checkpoint_wrapped_module.running_var"));
  // Names that only look so, and prefixes that not all have, are others.
  CHECK_FALSE(loads("a_orig_mod.fc.weight", "bn.running_var"));
  CHECK_FALSE(loads("module.fc.weight", "bn.running_var"));
  CHECK_FALSE(loads("module.fc.weight", "other.bn.running_var"));
  CHECK_FALSE(loads("module.head.weight", "module.norm.running_var"));
  write_safetensors(folder / "w",
                    std::vector{named("module.fc.weight", {2, 2}, {1, 2, 3, 4}),
                                named("other.scale", {2}, {1, 2})});
  Layer layer(false);
  CHECK_THROWS_WITH_AS(load_weights(folder / "w", layer.store, WeightsMatch::partial),
                       doctest::Contains("nothing in '"),
                       CheckpointError);
}

TEST_CASE("two names that differ by a wrapper alone stay as they are") {
  const TemporaryFolder folder;
  write_safetensors(folder / "w",
                    std::vector{named("fc._orig_mod.weight", {2, 2}, {1, 2, 3, 4}),
                                named("fc.weight", {2, 2}, {5, 6, 7, 8}),
                                kVariance});
  Layer layer(false);
  CHECK_THROWS_WITH_AS(load_weights(folder / "w", layer.store),
                       doctest::Contains("not in the model (1): fc._orig_mod.weight"),
                       CheckpointError);
}
