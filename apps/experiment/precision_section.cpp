#include "apps/experiment/precision_section.h"

#include "apps/experiment/spec_flag.h"
#include "callbacks/registry.h"
#include "framework/core/options/spec.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace learn {
namespace {

constexpr std::string_view kHalfModel = "mixed_precision";
constexpr std::string_view kAutocast = "native_mixed_precision";
constexpr std::string_view kPure = "pure_half";

/// The settings that a value of `--precision` selects.
struct Mode {
  std::string_view name;
  std::string_view opt_level;  ///< apex's name; empty: not in apex
  std::string_view callback;   ///< empty: no callback
  DType dtype = DType::f32;    ///< of the callback
};

constexpr std::array kModes{Mode{"fp32", "O0", "", DType::f32},
                            Mode{"tf32", "", "", DType::f32},
                            Mode{"fp16", "O2", kHalfModel, DType::f16},
                            Mode{"bf16", "", kHalfModel, DType::bf16},
                            Mode{"fp16-amp", "O1", kAutocast, DType::f16},
                            Mode{"bf16-amp", "", kAutocast, DType::bf16},
                            Mode{"pure-fp16", "O3", kPure, DType::f16},
                            Mode{"pure-bf16", "", kPure, DType::bf16}};

const Mode& mode_of(std::string_view name) {
  return *std::find_if(kModes.begin(), kModes.end(), [&](const Mode& m) { return m.name == name; });
}

/// Only f16 has a loss scale, and only with f32 gradients to unscale.
bool has_loss_scale(const Mode& mode) { return mode.dtype == DType::f16 && mode.callback != kPure; }

/// "512" or "dynamic:growth_interval=500": a number is a static scale.
bool is_static(const std::string& loss_scale) { return !loss_scale.starts_with("dynamic"); }

/// Drops options without effect, except those that were `given`, which are rejected instead.
void drop_without_effect(PrecisionSection& section, const std::set<std::string>& given) {
  const Mode& mode = mode_of(section.chosen());
  if (!given.contains("loss-scale") && !has_loss_scale(mode)) section.loss_scale = "dynamic";
  if (!given.contains("keep-fp32") && mode.callback.empty()) section.keep_fp32.clear();
}

}  // namespace

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  names.reserve(kModes.size());
  for (const Mode& mode : kModes) names.emplace_back(mode.name);
  return names;
}

std::set<std::string> precision_callbacks() {
  std::set<std::string> names;
  for (const Mode& mode : kModes)
    if (!mode.callback.empty()) names.emplace(mode.callback);
  return names;
}

std::string opt_level_of(const std::string& precision) {
  return std::string(mode_of(precision).opt_level);
}

void PrecisionSection::declare_layers(OptionTable& t) {
  Option& word = t.choice(
      "precision",
      precision,
      precision_names(),
      "precision of the model. fp16, bf16: weights, activations and gradients are halves, master "
      "weights and batch norm are fp32; -amp: weights are fp32, each operation casts its inputs "
      "('learn autocast'); pure-: halves without fp32 masters, a baseline; tf32: fp32, but a GPU "
      "may round the factors of products to 10 bits. A resumed run may change it");
  word.may_change = true;
  word.set = [this, set = word.set](const std::string& text) {
    set(text);
    precision_given = true;
  };
  Option& level = t.choice("opt-level",
                           opt_level,
                           {"O0", "O1", "O2", "O3"},
                           "apex's names: O0 is --precision fp32, O1 fp16-amp, O2 fp16, O3 "
                           "pure-fp16");
  level.may_change = true;
  level.toml = [this] { return opt_level.empty() ? "" : toml_text(opt_level); };
  t.list("keep-fp32",
         keep_fp32,
         ',',
         "MODULE,...",
         "modules that compute in fp32 in any precision, by path or type (see 'learn models "
         "NAME'): layers.17,Linear");
}

void PrecisionSection::declare(OptionTable& t) {
  t.group("Precision");
  declare_layers(t);
  Option& scale = t.text("loss-scale",
                         loss_scale,
                         "X|dynamic:OPTION=VALUE,...",
                         "loss scale of fp16: a constant number, or dynamic with the options of "
                         "'learn options mixed_precision'");
  scale.set = [this](const std::string& text) {
    if (is_static(text))
      (void)parse_real(text, kPositive);
    else if (const Spec spec = Spec::parse(text); spec.name != "dynamic")
      fail<UsageError>("must be a number or dynamic, not '{}'", text);
    loss_scale = text;
  };
  t.flag("flat-master",
         flat_master,
         "update all weights in one pass, not one by one; the bits are the same")
      .may_change = true;
}

std::string PrecisionSection::chosen() const {
  for (const Mode& mode : kModes)
    if (!opt_level.empty() && mode.opt_level == opt_level) return std::string(mode.name);
  return precision;
}

void PrecisionSection::settle() {
  check_words();
  precision = chosen();
  precision_given = false;
  opt_level.clear();
}

void PrecisionSection::check_words() const {
  if (!opt_level.empty() && precision_given && precision != chosen())
    fail<UsageError>(
        "--opt-level {} means --precision {}, but --precision {} is given: omit one of them",
        opt_level,
        chosen(),
        precision);
}

void PrecisionSection::check() const {
  check_words();
  const Mode& mode = mode_of(chosen());
  if (loss_scale != "dynamic" && !has_loss_scale(mode))
    fail<UsageError>("--loss-scale needs --precision fp16 or fp16-amp, not {}", chosen());
  if (!keep_fp32.empty() && mode.callback.empty())
    fail<UsageError>("--keep-fp32 has no effect with --precision {}, where all is fp32", chosen());
  if (const std::string spec = callback(); !spec.empty()) (void)callbacks::make_from_text(spec);
}

bool PrecisionSection::change_from(const PrecisionSection& before,
                                   const std::set<std::string>& given) {
  if (chosen() == before.chosen()) return false;
  drop_without_effect(*this, given);
  return true;
}

PrecisionSection PrecisionSection::in(const std::string& name) const {
  PrecisionSection other = *this;
  other.opt_level.clear();
  other.precision = name;
  other.precision_given = false;
  drop_without_effect(other, {});
  return other;
}

DType PrecisionSection::dtype() const {
  const Mode& mode = mode_of(chosen());
  return mode.callback == kAutocast ? DType::f32 : mode.dtype;
}

std::optional<DType> PrecisionSection::autocast() const {
  const Mode& mode = mode_of(chosen());
  return mode.callback == kAutocast ? std::optional(mode.dtype) : std::nullopt;
}

std::optional<DType> PrecisionSection::half() const {
  const Mode& mode = mode_of(chosen());
  return mode.callback.empty() ? std::nullopt : std::optional(mode.dtype);
}

nn::Masters PrecisionSection::masters() const {
  return mode_of(chosen()).callback == kPure ? nn::Masters::none : nn::Masters::f32;
}

std::string PrecisionSection::callback() const {
  const Mode& mode = mode_of(chosen());
  if (mode.callback.empty()) return {};
  std::string spec = fmt::format("{}:dtype={}", mode.callback, name_of(mode.dtype));
  if (is_static(loss_scale))
    spec += ",dynamic=false,loss_scale=" + loss_scale;
  else if (const std::size_t colon = loss_scale.find(':'); colon != std::string::npos)
    spec += "," + loss_scale.substr(colon + 1);
  if (mode.callback == kHalfModel && !flat_master) spec += ",flat_master=false";
  return spec;
}

void PrecisionSection::check_replaced(const std::string& given) const {
  const Spec spec = Spec::parse(given);
  const std::string* const dtype = find_option(spec, "dtype");
  const DType half = dtype != nullptr && *dtype == "bf16" ? DType::bf16 : DType::f16;
  const auto wanted = std::find_if(kModes.begin(), kModes.end(), [&](const Mode& mode) {
    return mode.callback == spec.name && mode.dtype == half;
  });
  if (chosen() != wanted->name)
    fail<UsageError>(
        "--callbacks {} means --precision {}, but --precision is {}: use --precision {}",
        given,
        wanted->name,
        chosen(),
        wanted->name);
  if (loss_scale != "dynamic" || !flat_master)
    fail<UsageError>(
        "--loss-scale and --flat-master have no effect with --callbacks {}: add loss_scale=X, "
        "dynamic=false or flat_master=false to it",
        given);
}

void PrecisionSection::prepare(Learner& learn, bool replaced) const {
  if (!keep_fp32.empty()) learn.keep_f32(keep_fp32);
  if (const std::string spec = callback(); !spec.empty() && !replaced)
    callbacks::add_from_text(learn, spec);
}

void PrecisionSection::apply(nn::ParamStore& store) const {
  check();
  store.keep_f32(keep_fp32);
  store.set_working_dtype(dtype(), masters());
}

}  // namespace learn
