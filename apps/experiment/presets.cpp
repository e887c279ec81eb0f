#include "apps/experiment/options.h"

namespace learn {
namespace {

/// fastai_old's dev_nb/004b_mixed_precision.ipynb at c8285fbc (2018-09-30), with the defaults of
/// nb_004 and nb_004a, which it imports. These are Learner's AdamW (torch's eps) with decoupled
/// decay of all parameters (bn_wd; wd is 0.01, the default), OneCycleScheduler(learn, 0.1), whose
/// rates replace the 1e-2 passed to fit, and MixedPrecision with a static scale and separate
/// masters. (The calls in the notebook pass flat_master=True, which gives the same bits.)
Preset notebook() {
  return {"notebook",
          "fastai's mixed-precision notebook (nb_004b): airplanes and dogs of CIFAR-10, Darknet, "
          "AdamW, one cycle at 0.1, one epoch; with --precision fp16 a static loss scale of 512",
          {{"data", "cifar10"},
           {"classes", "airplane,dog"},
           {"normalize", "0.491:0.482:0.447:0.247:0.243:0.261"},
           {"augment", "basic"},
           {"model", "darknet"},
           {"epochs", "1"},
           {"batch-size", "64"},
           {"optimizer", "adamw:beta2=0.99,eps=1e-8,decay_bn_bias=true"},
           {"schedule", "one-cycle:warmup=0.5,div=25,div_final=250000,rise=line,whole_steps=true"},
           {"lr", "0.1"},
           {"name", "notebook"}},
          {{"loss-scale", "512"}, {"flat-master", "false"}}};
}

/// Appends values, which replace earlier ones with the same names.
OptionValues with(OptionValues values, const OptionValues& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

/// Options that recipes of github.com/KellerJordan/cifar10-airbench share. A loss is a sum over a
/// batch there and rates are per image; here it is the mean, and rates are as many times as large.
/// Layer group 0 is the first layer, of which only the bias is trained, at the rate of the weights:
/// bn_bias_lr is in its rate.
OptionValues airbench() {
  return {{"data", "cifar10"},
          {"batch-size", "1024"},
          {"drop-last", "true"},
          {"label-smoothing", "0.2"}};
}

OptionValues airbench_sgd() {
  return with(airbench(),
              {{"split", "layer1"},
               {"optimizer", "sgd:nesterov=true,decay=coupled,decay_bn_bias=true,bn_bias_lr=64"},
               {"momentum", "0.85"},
               {"callbacks", "whitening;lookahead"}});
}

/// The head is initialized with deviation 1 and divided by 256 there, and the momentum of all that
/// Muon does not update is 0.85; the rates of the head and of biases are converted to what holds
/// here. These are not decayed.
OptionValues airbench_muon() {
  return with(airbench(),
              {{"model", "airbench94"},
               {"split", "layer1,linear"},
               {"augment", "airbench"},
               {"optimizer", "muon:iterations=3,normalize=true,bn_bias_lr=1178"},
               {"momentum", "0.6"},
               {"weight-decay", "0"},
               {"schedule", "linear"},
               {"callbacks", "whitening"}});
}

/// legacy/airbench94.py, which ends after 9.9 epochs.
Preset airbench94() {
  return {"airbench94",
          "the recipe of airbench's 94 % record on CIFAR-10, ten epochs; evaluate it with "
          "'learn eval last --tta shift:mean=outputs'",
          with(airbench_sgd(),
               {{"model", "airbench94"},
                {"augment", "airbench"},
                {"epochs", "10"},
                {"weight-decay", "0.001330435"},
                {"schedule", "linear:end=0.07,warmup_start=0.2"},
                {"warmup", "0.23"},
                {"lr", "0.0234375:1.5"},
                {"name", "airbench94"}})};
}

/// airbench96.py, of which the cut-out keeps inside the image; the one here is clipped.
Preset airbench96() {
  return {"airbench96",
          "the recipe of airbench's 96 % record, 37 epochs: for a GPU",
          with(airbench_sgd(),
               {{"model", "airbench96"},
                {"augment", "flip:alternate=true|pad:pixels=4|crop|cutout:length=12"},
                {"epochs", "37"},
                {"weight-decay", "0.00133333"},
                {"schedule", "linear:warmup_start=0.2"},
                {"warmup", "0.1"},
                {"lr", "0.0183424:1.17391"},
                {"name", "airbench96"}})};
}

/// airbench94_muon.py, whose sums are over 2000 images.
Preset airbench94_muon() {
  return {"airbench94-muon",
          "the same net with Muon, eight epochs",
          with(airbench_muon(),
               {{"epochs", "8"},
                {"batch-size", "2000"},
                {"lr", "0.24:0.24:4.42"},
                {"name", "airbench94-muon"}})};
}

/// Muon with smaller batches, on smaller images at first. With more time a wider net is better
/// than more epochs.
Preset two_cores(const std::string& minutes, const std::string& model, const std::string& epochs) {
  const std::string name = minutes + "-minutes";
  return {name,
          "the best accuracy on CIFAR-10 in some " + minutes + " minutes on two CPU cores, " +
              epochs + " epochs",
          with(airbench_muon(),
               {{"model", model},
                {"epochs", epochs},
                {"lr", "0.17:0.17:3.1"},
                {"precision", "bf16"},
                {"callbacks", "whitening;progressive_resizing:first=0.3,last=0.2"},
                {"name", name}})};
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"quick",
       "synthetic10 within three minutes on two cores",
       {{"data", "synthetic10"},
        {"model", "small"},
        {"train-limit", "10000"},
        {"valid-limit", "2000"},
        {"epochs", "6"},
        {"batch-size", "64"},
        {"lr", "0.01"},
        {"name", "quick"}}},
      {"darknet-one-cycle",
       "Darknet with SGD, one cycle at 0.1, five epochs",
       {{"model", "darknet"},
        {"epochs", "5"},
        {"batch-size", "64"},
        {"optimizer", "sgd"},
        {"lr", "0.1"},
        {"name", "darknet-one-cycle"}}},
      notebook(),
      airbench94(),
      airbench94_muon(),
      airbench96(),
      two_cores("5", "airbench94", "5"),
      two_cores("15", "airbench95", "10"),
  };
  return all;
}

}  // namespace learn
