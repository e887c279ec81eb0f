// Messages about pretrained weights before a training rounds them to halves.
#include "apps/experiment/range_check.h"

#include "apps/experiment/experiment.h"
#include "framework/io/checkpoint.h"
#include "framework/tensor/factory.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <functional>

using namespace learn;

namespace {

ExperimentOptions tiny(const OptionValues& values) {
  ExperimentOptions options;
  set_options(options.table(),
              {{"data", "synthetic10"},
               {"train-limit", "20"},
               {"valid-limit", "20"},
               {"batch-size", "20"},
               {"epochs", "1"},
               {"model", "small:width=4"},
               {"device", "cpu"},
               {"threads", "1"},
               {"workers", "0"}});
  set_options(options.table(), values);
  return options;
}

/// Weights of the model, some of them changed, and the messages of an experiment that starts with
/// them.
struct Pretrained {
  explicit Pretrained(const std::function<void(nn::ParamStore&)>& change) {
    Experiment experiment(tiny({}));
    change(experiment.learner().params());
    save_weights(file, experiment.learner().params(), experiment.metadata(""));
  }
  [[nodiscard]] std::string error(OptionValues values) const {
    values.emplace_back("pretrained", file.string());
    try {
      const Experiment experiment(tiny(values));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  [[nodiscard]] std::string said(const OptionValues& values) const {
    const test::LogFile log;
    CHECK(error(values) == "");
    return log.text();
  }

  TemporaryFolder folder{};
  std::filesystem::path file = folder / "w.safetensors";
};

Tensor master(nn::ParamStore& params, const std::string& name) {
  return params.master(params.find(name));
}

void set_one(nn::ParamStore& params, const std::string& name, std::int64_t at, double value) {
  Tensor values = master(params, name);
  set(values, at, value);
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("weights that fp16 cannot hold are refused with their names before training") {
  const Pretrained weights([](nn::ParamStore& params) {
    set_one(params, "layer2.conv.weight", 3, -70000);
    set_one(params, "layer1.conv.weight", 0, 1.2e5);
    set_one(params, "layer1.conv.weight", 1, 65520);
    set_one(params, "layer1.bn.weight", 0, 1e6);  // stays f32
  });
  for (const char* precision : {"fp16", "fp16-amp"}) {
    const std::string error = weights.error({{"precision", precision}});
    has(error, "cannot be trained in f16, whose largest number is 65504: 2 of the 288 values of ");
    has(error,
        "'layer1.conv.weight' are larger (the largest is 120000), 1 of the 1152 values of "
        "'layer2.conv.weight'");
    has(error, "--precision bf16, which has the range of fp32, or --keep-fp32 layer1.conv,layer2.");
    CHECK(error.find("bn") == std::string::npos);
  }
  CHECK(weights.error({{"opt-level", "O2"}}) == weights.error({{"precision", "fp16"}}));
  // Its advice helps.
  for (const char* precision : {"fp32", "bf16", "bf16-amp"})
    CHECK(weights.error({{"precision", precision}}) == "");
  CHECK(weights.error({{"precision", "fp16"}, {"keep-fp32", "layer1.conv,layer2.conv"}}) == "");
  // A callback that is given in full computes in the same half.
  has(weights.error({{"precision", "fp16"}, {"callbacks", "mixed_precision:dynamic=false"}}),
      "cannot be trained in f16");
}

TEST_CASE("weights beyond bf16 get the advice to stay in fp32") {
  const Pretrained weights(
      [](nn::ParamStore& params) { set_one(params, "layer2.conv.weight", 3, 3.4028e38); });
  const std::string error = weights.error({{"precision", "bf16"}});
  has(error, "in bf16, whose largest number is 3.38953e+38: 1 of the 1152");
  has(error, "Use --precision fp32, or --keep-fp32 layer2.conv");
}

TEST_CASE("weights beyond a half without masters get the advice to use fp32 masters") {
  const Pretrained weights(
      [](nn::ParamStore& params) { set_one(params, "layer2.conv.weight", 3, 70000); });
  has(weights.error({{"precision", "pure-fp16"}, {"keep-fp32", "layer2.conv"}}),
      "of fp32, or --precision fp16 --keep-fp32 layer2.conv");
  CHECK(weights.error({{"precision", "fp16"}, {"keep-fp32", "layer2.conv"}}) == "");
  const Pretrained larger(
      [](nn::ParamStore& params) { set_one(params, "layer2.conv.weight", 3, 3.4028e38); });
  has(larger.error({{"precision", "pure-bf16"}}),
      "--precision fp32, or --precision bf16 --keep-fp32 layer2.conv");
}

TEST_CASE("among many parameters beyond fp16, the worst are named and the others counted") {
  const Pretrained weights([](nn::ParamStore& params) {
    for (std::int64_t i = 0; i < params.size(); ++i)
      set_one(params, params.info(i).name, 0, 7e4 + static_cast<double>(i));
  });
  const std::string error = weights.error({{"precision", "fp16"}});
  has(error, " more. They and all outputs would be infinite");
}

TEST_CASE("weights that fp16 holds cost one line of the log and none in fp32") {
  const Pretrained weights([](nn::ParamStore&) {});
  const std::string half = weights.said({{"precision", "fp16"}});
  has(half, "[model] weights as f16: 0 of ");
  CHECK(half.find("warn") == std::string::npos);
  CHECK(weights.said({}).find("weights as") == std::string::npos);
}

TEST_CASE("weights that become zero and variances below zero are warned of") {
  const Pretrained weights([](nn::ParamStore& params) {
    Tensor all = master(params, "layer2.conv.weight");
    for (std::int64_t i = 0; i < all.elements() / 4; ++i) set(all, i, 1e-8);
    Tensor few = master(params, "layer1.conv.weight");
    for (std::int64_t i = 0; i < few.elements() / 20; ++i) set(few, i, 1e-8);
    for (std::int64_t i = 0; i < params.buffer_count(); ++i)
      if (params.buffer(i).name == "layer1.bn.running_var") set(params.buffer(i).value, 2, -1);
  });
  const std::string half = weights.said({{"precision", "fp16"}});
  has(half, "in f16 many weights become zero: 25 % of 'layer2.conv.weight' (the largest left is");
  has(half, "Use --precision bf16, which has the range of fp32, or --keep-fp32 layer2.conv");
  CHECK(half.find("'layer1.conv.weight'") == std::string::npos);
  has(half, "1 of the 8 values of 'layer1.bn.running_var' are negative, but a variance cannot be");
  const std::string bf16 = weights.said({{"precision", "bf16"}});
  CHECK(bf16.find("become zero:") == std::string::npos);
}
