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
  };
  return all;
}

}  // namespace learn
