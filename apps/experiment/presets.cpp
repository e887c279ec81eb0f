#include "apps/experiment/options.h"

namespace learn {

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
      {"notebook",
       "fastai's mixed-precision notebook: Darknet, one cycle at 0.1",
       {{"model", "darknet"},
        {"epochs", "5"},
        {"batch-size", "64"},
        {"optimizer", "sgd"},
        {"lr", "0.1"},
        {"name", "notebook"}}},
  };
  return all;
}

}  // namespace learn
