#include "apps/experiment/model_section.h"

#include "apps/experiment/spec_flag.h"
#include "framework/inference/pretrained.h"
#include "framework/learner/learner.h"
#include "framework/runs/saved_weights.h"

namespace learn {
namespace {

void freeze_groups(Learner& learn, const std::string& freeze, bool train_bn) {
  if (freeze == "none") return;
  if (freeze == "body") return learn.freeze(train_bn);
  const int groups = learn.params().layer_groups();
  const std::int64_t frozen = parse_integer(freeze, kPositive);
  if (frozen >= groups)
    fail<UsageError>("--freeze {} would freeze all of the {} layer groups", frozen, groups);
  learn.freeze_to(static_cast<int>(frozen), train_bn);
}

}  // namespace

void ModelSection::declare(OptionTable& t) {
  t.group("Model");
  declare_spec(
      t, "model", model, models::model_registry(), "NAME", "model; 'learn models' lists them")
      .short_name = "m";
  t.number("width",
           width,
           {.low = 0, .high = models::kWidth.high},
           "N",
           "width of the model; 0: its default");
  t.number("dropout", dropout, kShare, "P", "dropout probability, for models with dropout");
  t.text("pretrained",
         pretrained,
         "RUN|FILE|last",
         "start from these weights (the best ones of a run); the last layer is matched by class "
         "names; tensors that do not match keep their initial values");
  t.list("split",
         split,
         ',',
         "A,B|auto",
         "modules that start new layer groups; auto: the model's default");
  Option& frozen = t.text(
      "freeze", freeze, "N|body|none", "freeze the first N layer groups, or all but the last");
  frozen.set = [this](const std::string& text) {
    if (text != "none" && text != "body") (void)parse_integer(text, kPositive);
    freeze = text;
  };
  t.flag("train-bn", train_bn, "train BatchNorm's weights and biases in frozen layer groups, too");
}

void ModelSection::check() const {
  (void)models::model_registry().make(spec());
  if (!train_bn && freeze == "none")
    fail<UsageError>("--no-train-bn has no effect without --freeze: nothing is frozen");
}

void ModelSection::leave_out_without_effect(const std::set<std::string>& given) {
  const auto left_out = [&](const char* option) {
    return given.contains("model") && !given.contains(option) &&
           !takes_flag(Spec::parse(model), models::model_registry(), option);
  };
  if (left_out("width")) width = 0;
  if (left_out("dropout")) dropout = 0;
  if (given.contains("freeze") && !given.contains("train-bn") && freeze == "none") train_bn = true;
}

Spec ModelSection::spec() const {
  Spec spec = Spec::parse(model);
  const models::ModelRegistry registry = models::model_registry();
  if (width > 0) add_flag(spec, registry, "width", "width", std::to_string(width));
  if (dropout > 0) add_flag(spec, registry, "dropout", "dropout", fmt::format("{}", dropout));
  return spec;
}

nn::Model ModelSection::make(const models::Task& task) const {
  return models::make_model(spec(), task);
}

void ModelSection::prepare(Learner& learn,
                           const data::Loaders& data,
                           bool grouped,
                           const std::string& out) const {
  if (!pretrained.empty())
    (void)load_pretrained(run_folder(pretrained, out), learn.model_info(), data);
  const bool automatic = split == std::vector<std::string>{"auto"};
  const bool needed = grouped || freeze != "none";
  const std::vector<std::string>& own = learn.model_info().split;
  if (automatic || (needed && split.empty())) {
    if (own.empty())
      fail<UsageError>("model '{}' has no default layer groups: name modules with --split", model);
    learn.split(own);
  } else if (!split.empty()) {
    learn.split(split);
  }
  freeze_groups(learn, freeze, train_bn);
}

}  // namespace learn
