#include "callbacks/freezing/gradual_unfreezing.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

#include <algorithm>

namespace learn::callbacks {

GradualUnfreezing::GradualUnfreezing(const GradualUnfreezingOptions& options) : options_(options) {
  check<UsageError>(options.frozen >= 0 && options.every >= 0,
                    "gradual_unfreezing: frozen is {}, every {}; they are numbers of epochs, at "
                    "least 0",
                    options.frozen,
                    options.every);
}

int GradualUnfreezing::first_trained(std::int64_t epoch, int layer_groups) const {
  if (epoch < options_.frozen) return layer_groups - 1;
  if (options_.every == 0) return 0;
  const std::int64_t more = 1 + (epoch - options_.frozen) / options_.every;
  return static_cast<int>(std::max<std::int64_t>(0, layer_groups - 1 - more));
}

void GradualUnfreezing::attached(Learner& learn) {
  const nn::ParamStore& params = learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i)
    check<UsageError>(params.slot(i).trainable || params.info(i).fixed,
                      "gradual_unfreezing: the parameter '{}' is frozen, and this callback chooses "
                      "what is: omit --freeze, or call unfreeze()",
                      params.info(i).name);
}

void GradualUnfreezing::train_begin(Learner& learn) {
  check<UsageError>(learn.params().layer_groups() > 1,
                    "gradual_unfreezing: the model has one layer group, which cannot be divided "
                    "into frozen and trained ones: use --split auto, or learn.split(...)");
  freeze(learn);
}

void GradualUnfreezing::epoch_begin(Learner& learn) { freeze(learn); }

void GradualUnfreezing::freeze(Learner& learn) const {
  nn::ParamStore& params = learn.params();
  params.freeze_to(first_trained(learn.progress().epoch, params.layer_groups()), options_.train_bn);
}

void register_gradual_unfreezing(CallbackRegistry& registry) {
  registry.add(
      "gradual_unfreezing",
      "trains the last layer group first and the others later",
      GradualUnfreezingOptions{},
      [](OptionTable& t, GradualUnfreezingOptions& o) {
        t.number("frozen",
                 o.frozen,
                 kNotNegative,
                 "N",
                 "epochs in which the last layer group alone is trained");
        t.number("every",
                 o.every,
                 kNotNegative,
                 "N",
                 "then train one more group every N epochs; 0: all at once");
        t.flag("train_bn",
               o.train_bn,
               "train BatchNorm's weights and biases in frozen layer groups, too");
      },
      [](const GradualUnfreezingOptions& o, const RunSettings&) {
        return make_callback<GradualUnfreezing>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
