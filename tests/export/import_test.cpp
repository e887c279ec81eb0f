#include "framework/export/import_pytorch.h"
#include "framework/export/passes.h"
#include "framework/export/pytorch.h"
#include "framework/nn/layers.h"
#include "framework/tensor/host_tensor.h"
#include "models/registry.h"
#include "tests/export/trained_model.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

void write_export(const std::filesystem::path& path, Trained& trained) {
  exported::Graph graph = trained.graph();
  exported::flatten_channels_first(graph);
  exported::write_pytorch(path, graph, {.model = "some"});
}

std::string import_error(const std::filesystem::path& path,
                         Trained& into,
                         const std::string& map,
                         WeightsMatch match = WeightsMatch::strict) {
  try {
    (void)exported::import_pytorch(path,
                                   *into.model.module,
                                   *into.model.params,
                                   into.model.input,
                                   exported::NameMap(map, "map"),
                                   match);
  } catch (const CheckpointError& e) {
    return e.what();
  }
  return "none";
}

bool same(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.span<float>(), b.span<float>());
}

}  // namespace

TEST_CASE("names are mapped by the first rule that fits, with stars for any text") {
  const exported::NameMap map(
      "# of DataParallel\n\n  module.* = *\n*.gamma=*.weight\nblocks.*.conv* = "
      "layers.*.*.conv\nhead.* =\r\n"
      "head.bias = lost\na*b*c = *-*\nexact = other\n",
      "map.txt");
  CHECK(map("module.conv1.weight") == "conv1.weight");
  CHECK(map("bn.gamma") == "bn.weight");
  CHECK(map("blocks.3.conv2") == "layers.3.2.conv");
  CHECK(map("head.bias") == std::nullopt);
  CHECK(map("axbyc") == "x-y");
  CHECK(map("abbc") == "-b");
  CHECK(map("exact") == "other");
  CHECK(map("exactly") == "exactly");
  CHECK(map("xmodule.a") == "xmodule.a");
}

TEST_CASE("each star matches as little as possible, whatever the number of stars") {
  const auto stars = [](const std::string& pattern, const std::string& name) {
    std::string ours = "*";
    for (auto more = std::ranges::count(pattern, '*'); more > 1; --more) ours += "|*";
    return exported::NameMap(pattern + " = " + ours, "map")(name).value_or("left out");
  };
  CHECK(stars("*", "") == "");
  CHECK(stars("*a", "aaa") == "aa");
  CHECK(stars("*a*", "baca") == "b|ca");
  CHECK(stars("*a*a", "baacaa") == "b|aca");
  CHECK(stars("a*b*c*d*e*f", "a1b2c3d4e5f") == "1|2|3|4|5");
  CHECK(stars("**x", "yx") == "|y");
  CHECK(stars("ab*ba", "aba") == "aba");  // pieces do not overlap: the rule does not fit
  CHECK(stars("a*b*b", "ab") == "ab");
}

TEST_CASE("names are matched in a time that grows as they do") {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  const exported::NameMap map(pattern + "*b = x", "map");
  const std::string name(4096, 'a');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) CHECK(map(name) == name);
  // Microseconds each; trying every place for each of five stars took 20 s for 1,000 letters.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("an invalid rule is refused with its line") {
  const auto refused = [](const char* text, const char* why) {
    CHECK_THROWS_WITH_AS(exported::NameMap(text, "map.txt"), doctest::Contains(why), UsageError);
  };
  refused("a = b\nc\n", "map.txt, line 2: 'c' is not a rule of the form 'theirs = ours'");
  refused("= b", "map.txt, line 1: '= b' has no name on the left");
  refused("a* = *.*", "more '*' on the right than on the left");
}

TEST_CASE("an export for PyTorch is imported with the same bits") {
  const TemporaryFolder folder;
  for (const char* spec : {"small:width=2", "mlp:width=4", "darknet:width=2"}) {
    INFO(std::string(spec));
    const models::Task task{.classes = 3, .input = {8, 10, 3}};
    Trained trained(models::make_model(spec, task));
    const std::filesystem::path path = folder.path() / "net.safetensors";
    write_export(path, trained);
    const Tensor x = trained.images(2);
    Context ctx({.device = Device::cpu(), .threads = 1});
    nn::Model fresh = models::make_model(spec, task);
    fresh.params->materialize(ctx);
    const WeightsReport report =
        exported::import_pytorch(path, *fresh.module, *fresh.params, fresh.input);
    CHECK(report.clean());
    CHECK(report.loaded == fresh.params->size() + fresh.params->buffer_count());
    for (std::int64_t i = 0; i < fresh.params->size(); ++i)
      CHECK(same(fresh.params->master(i), trained.model.params->master(i)));
    for (std::int64_t i = 0; i < fresh.params->buffer_count(); ++i)
      CHECK(same(fresh.params->buffer(i).value, trained.model.params->buffer(i).value));
  }
}

TEST_CASE("weight norm's directions are turned as its weight would be") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  Trained trained(models::make_model("linear", {.classes = 2, .input = {2, 1, 3}}));
  nn::Model normed =
      models::make_model("mlp:width=2,weight_norm=true", {.classes = 2, .input = {2, 1, 3}});
  normed.params->materialize(trained.ctx);
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name, const Shape& shape) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>(i + 1));
    tensors.push_back({name, host_tensor<float>(shape, values)});
  };
  for (std::int64_t i = 0; i < normed.params->size(); ++i)
    add(normed.params->info(i).name, normed.params->info(i).shape);
  write_safetensors(path, tensors);
  CHECK(exported::import_pytorch(path, *normed.module, *normed.params, normed.input).clean());
  // (c, h) of 3 channels and 2 rows becomes (h, c).
  const auto v = normed.params->master(normed.params->find("layers.1.weight_v")).span<float>();
  CHECK(std::vector<float>(v.begin(), v.begin() + 6) == std::vector<float>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("all mismatches are listed at once, and loaded partly if requested") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  Trained theirs(models::make_model("small:width=2", {.classes = 3, .input = {8, 8, 3}}));
  write_export(path, theirs);
  Trained ours(models::make_model("small:width=2", {.classes = 4, .input = {8, 8, 3}}));
  const std::string map = "prep.bn.weight = prep.norm.weight";
  const std::string error = import_error(path, ours, map);
  CHECK(error.find("missing in the file (1): prep.bn.weight") != std::string::npos);
  CHECK(error.find("not in the model (1): prep.norm.weight") != std::string::npos);
  CHECK(error.find("different shapes (1): linear.weight is f32 (3,16), here (4,16)") !=
        std::string::npos);
  const Tensor head =
      to_host(ours.ctx, ours.model.params->master(ours.model.params->find("linear.weight")));
  CHECK(import_error(path, ours, map, WeightsMatch::partial) == "none");
  nn::ParamStore& store = *ours.model.params;
  CHECK(same(store.master(store.find("linear.weight")), head));
  CHECK(same(store.master(store.find("layer2.conv.weight")),
             theirs.model.params->master(theirs.model.params->find("layer2.conv.weight"))));
  CHECK(import_error(path, ours, "*.bias = prep.bn.bias")
            .find("would be renamed to 'prep.bn.bias'") != std::string::npos);
  CHECK(import_error(path, ours, "* = x*", WeightsMatch::partial).find("fits the model:") !=
        std::string::npos);
}

TEST_CASE("a weight-normalized model comes back from its export") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  const models::Task task{.classes = 3, .input = {4, 6, 3}};
  Trained trained(models::make_model("mlp:width=4,weight_norm=true", task));
  write_export(path, trained);
  Trained fresh(models::make_model("mlp:width=4,weight_norm=true", task));
  for (std::int64_t i = 0; i < fresh.model.params->size(); ++i) {
    Tensor master = fresh.model.params->master(i);
    for (float& value : master.span<float>()) value += 1;
  }
  CHECK(import_error(path, fresh, "") == "none");
  const Tensor x = trained.images(2);
  const Tensor was = trained.logits(x);
  const Tensor now = fresh.logits(x);
  for (std::int64_t i = 0; i < was.elements(); ++i)
    CHECK(now.span<float>()[static_cast<std::size_t>(i)] ==
          doctest::Approx(was.span<float>()[static_cast<std::size_t>(i)]).epsilon(1e-5));
}

TEST_CASE("values that no model can use are refused by name") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  const models::Task task{.classes = 2, .input = {8, 8, 3}};
  const auto error_with = [&](const std::string& where, float value) {
    Trained theirs(models::make_model("small:width=2", task));
    nn::ParamStore& store = *theirs.model.params;
    const bool buffer = where.find("running") != std::string::npos;
    for (std::int64_t i = 0; buffer && i < store.buffer_count(); ++i)
      if (store.buffer(i).name == where) store.buffer(i).value.span<float>()[1] = value;
    if (!buffer) store.master(store.find(where)).span<float>()[1] = value;
    write_export(path, theirs);
    Trained ours(models::make_model("small:width=2", task));
    return import_error(path, ours, "", WeightsMatch::partial);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(error_with("prep.bn.running_var", -1), "'prep.bn.running_var' has a value of -1"));
  CHECK(has(error_with("linear.weight", NAN), "'linear.weight' has a value that is NaN"));
  CHECK(has(error_with("prep.bn.bias", INFINITY), "'prep.bn.bias' has a value that is infinite"));
  CHECK(has(error_with("prep.bn.running_mean", -INFINITY), "that is infinite"));
  CHECK(error_with("prep.bn.bias", 1) == "none");
}

TEST_CASE("an import matches rows by the class names in the file") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  Trained theirs(models::make_model("small:width=2", {.classes = 3, .input = {8, 8, 3}}));
  exported::Graph graph = theirs.graph();
  exported::write_pytorch(path, graph, {.model = "some"}, {{"learn.classes", "cat\ndog\nship"}});
  const auto import = [&](const std::vector<std::string>& classes, WeightsMatch match) {
    Trained ours(models::make_model(
        "small:width=2", {.classes = static_cast<int>(classes.size()), .input = {8, 8, 3}}));
    const WeightsReport report = exported::import_pytorch(
        path, *ours.model.module, *ours.model.params, ours.model.input, {}, match, classes);
    CHECK(report.clean());
    const Tensor from = theirs.model.params->master(theirs.model.params->find("linear.weight"));
    const Tensor to = ours.model.params->master(ours.model.params->find("linear.weight"));
    const std::size_t columns = static_cast<std::size_t>(to.shape()[1]);
    CHECK(std::ranges::equal(to.span<float>().first(columns),
                             from.span<float>().subspan(2 * columns, columns)));
  };
  import({"ship", "cat", "dog"}, WeightsMatch::strict);
  import({"ship", "dog"}, WeightsMatch::strict);
  import({"ship", "bird"}, WeightsMatch::partial);
  CHECK_THROWS_WITH_AS(
      import({"ship", "bird"}, WeightsMatch::strict),
      doctest::Contains("does not have these classes of the model: 1 of 2 classes found by name: "
                        "ship; 1 new: bird; 2 in the file not used: cat, dog"),
      CheckpointError);
}
