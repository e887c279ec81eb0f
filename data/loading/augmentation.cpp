#include "data/loading/augmentation.h"

#include "framework/core/error.h"

#include <algorithm>
#include <string>
#include <utility>

namespace learn::data {
namespace {

constexpr Range kProbability{.low = 0, .high = 1};

void declare_probability(OptionTable& t, float& p) {
  t.number("p", p, kProbability, "P", "probability for an image");
}

/// An option whose numbers are in a range.
void declare_interval(OptionTable& t,
                      const std::string& name,
                      Interval& field,
                      const Range& range,
                      std::string help) {
  Option& option = t.text(name, field, "LOW:HIGH", std::move(help));
  option.range = to_string(range);
  option.set = [&field, range](const std::string& text) {
    const Interval interval(text);
    for (const float end : {interval.low, interval.high})
      (void)parse_real(fmt::format("{}", end), range);
    field = interval;
  };
}

void declare(OptionTable& t, FlipLr& o) {
  declare_probability(t, o.p);
  t.flag("alternate", o.alternate, "draw once, and mirror in every second epoch");
}
void declare(OptionTable& t, Pad& o) {
  t.number("pixels", o.pixels, kNotNegative, "N", "pixels on each side");
  t.choice("mode",
           o.mode,
           {{"reflect", PadMode::reflect}, {"zero", PadMode::zero}},
           "what is added: a mirror image, or black");
}
void declare(OptionTable& t, RandomCrop& o) {
  t.number("size", o.size, kNotNegative, "N", "pixels on each side; 0: the original size");
}
void declare(OptionTable& t, CenterCrop& o) {
  t.number("size", o.size, kNotNegative, "N", "pixels on each side; 0: the original size");
}
void declare(OptionTable& t, ResizedCrop& o) {
  declare_interval(t,
                   "scale",
                   o.scale,
                   {.low = 0, .high = 1, .open_low = true},
                   "share of the area that remains");
  declare_interval(t, "ratio", o.ratio, kPositive, "width by height of what remains");
}
void declare(OptionTable& t, Affine& o) {
  t.number("degrees", o.degrees, {.low = 0, .high = 180}, "X", "turn by up to this, both ways");
  t.number("translate", o.translate, {.low = 0, .high = 1}, "X", "shift by up to this share");
  declare_interval(t, "scale", o.scale, {.low = 0.01, .high = 100}, "factor of the size");
  t.number("shear", o.shear, {.low = 0, .high = 89}, "X", "shear by up to this, in degrees");
  t.choice("interpolation",
           o.interpolation,
           {{"nearest", Interpolation::nearest}, {"bilinear", Interpolation::bilinear}},
           "the nearest pixel, or four mixed");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, Jitter& o) {
  t.number("brightness", o.brightness, kNotNegative, "X", "factors from 1 - X to 1 + X");
  t.number("contrast", o.contrast, kNotNegative, "X", "factors from 1 - X to 1 + X");
  t.number("saturation", o.saturation, kNotNegative, "X", "factors from 1 - X to 1 + X");
  t.number("hue", o.hue, {.low = 0, .high = 0.5}, "X", "turns of the colour wheel, both ways");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, Gray& o) { declare_probability(t, o.p); }
void declare(OptionTable& t, Invert& o) { declare_probability(t, o.p); }
void declare(OptionTable& t, Posterize& o) {
  t.number("bits", o.bits, {.low = 0, .high = 8}, "N", "bits that remain");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, Solarize& o) {
  t.number("threshold", o.threshold, {.low = 0, .high = 256}, "N", "values from here on");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, Equalize& o) { declare_probability(t, o.p); }
void declare(OptionTable& t, Autocontrast& o) { declare_probability(t, o.p); }
void declare(OptionTable& t, Sharpness& o) {
  declare_interval(t, "factor", o.factor, kNotNegative, "0 blurs, 2 sharpens");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, Blur& o) {
  t.number("size", o.size, {.low = 1, .high = 255}, "N", "pixels of the window, odd");
  declare_interval(t, "sigma", o.sigma, kPositive, "deviation in pixels");
  declare_probability(t, o.p);
}
void declare(OptionTable& t, RandAugment& o) {
  t.number("ops", o.ops, {.low = 0, .high = 16}, "N", "operations for each image");
  t.number("magnitude", o.magnitude, {.low = 0, .high = 30}, "N", "their strength");
}
void declare(OptionTable&, TrivialAugment&) {}
void declare(OptionTable& t, AugMix& o) {
  t.number("severity", o.severity, {.low = 1, .high = 10}, "N", "strengths are below it, of 10");
  t.number("chains", o.chains, {.low = 1, .high = 4}, "N", "chains that are mixed");
  t.flag("all", o.all, "also change brightness, color, contrast and sharpness");
}
void declare(OptionTable& t, Cutout& o) {
  t.number("length", o.length, kCount, "N", "pixels on each side of a hole");
  t.number("holes", o.holes, {.low = 0, .high = 4095}, "N", "holes in each image");
}
void declare(OptionTable& t, Erase& o) {
  declare_interval(t,
                   "area",
                   o.area,
                   {.low = 0, .high = 1, .open_low = true},
                   "share of the image that is erased");
  declare_interval(t, "ratio", o.ratio, kPositive, "height by width of it");
  t.flag("noise", o.noise, "fill it with noise");
  declare_probability(t, o.p);
}

template <class T>
concept Named = requires(OptionTable& t, T& step) {
  declare(t, step);
};

template <class T>
constexpr std::string_view kName = "";
template <>
constexpr std::string_view kName<FlipLr> = "flip";
template <>
constexpr std::string_view kName<Pad> = "pad";
template <>
constexpr std::string_view kName<RandomCrop> = "crop";
template <>
constexpr std::string_view kName<CenterCrop> = "center_crop";
template <>
constexpr std::string_view kName<ResizedCrop> = "resized_crop";
template <>
constexpr std::string_view kName<Affine> = "affine";
template <>
constexpr std::string_view kName<Jitter> = "jitter";
template <>
constexpr std::string_view kName<Gray> = "gray";
template <>
constexpr std::string_view kName<Invert> = "invert";
template <>
constexpr std::string_view kName<Posterize> = "posterize";
template <>
constexpr std::string_view kName<Solarize> = "solarize";
template <>
constexpr std::string_view kName<Equalize> = "equalize";
template <>
constexpr std::string_view kName<Autocontrast> = "autocontrast";
template <>
constexpr std::string_view kName<Sharpness> = "sharpness";
template <>
constexpr std::string_view kName<Blur> = "blur";
template <>
constexpr std::string_view kName<RandAugment> = "randaugment";
template <>
constexpr std::string_view kName<TrivialAugment> = "trivial";
template <>
constexpr std::string_view kName<AugMix> = "augmix";
template <>
constexpr std::string_view kName<Cutout> = "cutout";
template <>
constexpr std::string_view kName<Erase> = "erase";

void declare_any(OptionTable& t, Transform& step) {
  std::visit(
      [&]<class T>(T& of_kind) {
        if constexpr (Named<T>) declare(t, of_kind);
      },
      step);
}

template <class T>
void add(AugmentationRegistry& registry, std::string help) {
  registry.add(std::string(kName<T>),
               std::move(help),
               Transform(T{}),
               declare_any,
               [](const Transform& step, std::int64_t) { return std::vector{step}; });
}

void add_steps(AugmentationRegistry& registry) {
  add<FlipLr>(registry, "mirror left and right");
  add<Pad>(registry, "add pixels on each side");
  add<RandomCrop>(registry, "crop at a random position");
  add<CenterCrop>(registry, "crop the centre");
  add<ResizedCrop>(registry, "crop a random part and scale it to the original size");
  add<Affine>(registry, "turn, shift, scale and shear");
  add<Jitter>(registry, "change brightness, contrast, saturation and hue, in random order");
  add<Gray>(registry, "remove the colours");
  add<Invert>(registry, "invert all values");
  add<Posterize>(registry, "keep the highest bits of each value");
  add<Solarize>(registry, "invert the bright values");
  add<Equalize>(registry, "make all values about equally frequent");
  add<Autocontrast>(registry, "stretch the values to the full range");
  add<Sharpness>(registry, "sharpen or blur");
  add<Blur>(registry, "blur with a normal distribution");
  add<RandAugment>(registry, "RandAugment: several of 14 operations at one strength");
  add<TrivialAugment>(registry, "TrivialAugment: one of 14 operations at a random strength");
  add<AugMix>(registry, "AugMix: the image mixed with chains of weak operations");
  add<Cutout>(registry, "set squares to the mean colour");
  add<Erase>(registry, "set a random rectangle to the mean colour, or to noise");
}

std::vector<Transform> basic(std::int64_t side) { return {Pad{side / 8}, RandomCrop{}, FlipLr{}}; }

void add_lists(AugmentationRegistry& registry) {
  registry.add("none", "no augmentation", [](std::int64_t) { return std::vector<Transform>{}; });
  registry.add("basic", "random shift and flip", basic);
  registry.add("full", "random shift, flip and cutout", [](std::int64_t side) {
    return compose(basic(side), Cutout{.length = std::max<std::int64_t>(1, side / 4)});
  });
  registry.add(
      "airbench",
      "shift by up to a sixteenth, and a flip in every second epoch",
      [](std::int64_t side) {
        return std::vector<Transform>{Pad{side / 16}, RandomCrop{}, FlipLr{.alternate = true}};
      });
  registry.add("imagenet", "resized_crop and flip", [](std::int64_t) {
    return std::vector<Transform>{ResizedCrop{}, FlipLr{}};
  });
  registry.add(
      "torchvision",
      "resized_crop, flip, trivial and erase, as torchvision's newer recipe",
      [](std::int64_t) {
        return std::vector<Transform>{ResizedCrop{}, FlipLr{}, TrivialAugment{}, Erase{.p = 0.1F}};
      });
}

std::string unquoted(const std::string& toml) {
  return toml.starts_with('"') ? toml.substr(1, toml.size() - 2) : toml;
}

}  // namespace

AugmentationRegistry augmentation_registry() {
  AugmentationRegistry registry("augmentation");
  add_steps(registry);
  add_lists(registry);
  return registry;
}

std::vector<Transform> augmentation(std::string_view chain,
                                    std::int64_t height,
                                    std::int64_t width) {
  const AugmentationRegistry registry = augmentation_registry();
  std::vector<Transform> all;
  for (;;) {
    const std::size_t bar = std::min(chain.find('|'), chain.size());
    const std::string_view part = chain.substr(0, bar);
    check<UsageError>(!part.empty(), "an augmentation is empty; use 'none' for no augmentation");
    all = compose(std::move(all), registry.make(part)(std::min(height, width)));
    if (bar == chain.size()) return all;
    chain.remove_prefix(bar + 1);
  }
}

std::optional<Spec> spec_of(const Transform& step) {
  // A step without changes, whose options then have their defaults.
  Transform copy;
  std::string_view name;
  std::visit(
      [&]<class T>(const T&) {
        name = kName<T>;
        copy.emplace<T>();
      },
      step);
  if (name.empty()) return std::nullopt;
  OptionTable table;
  declare_any(table, copy);
  copy = step;  // the same alternative, so that the options' fields stay where they are
  Spec spec{std::string(name), {}};
  for (const Option& option : table.all())
    if (!option.is_default()) spec.options.emplace_back(option.name, unquoted(option.toml()));
  return spec;
}

}  // namespace learn::data
