#include "callbacks/test_time_augmentation.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

TestTimeAugmentation::TestTimeAugmentation(const nn::TestViews& views, TargetKind targets)
    : views_(views), targets_(targets) {
  check<UsageError>(views.shift >= 0 && (!views.plain || (*views.plain >= 0 && *views.plain <= 1)),
                    "tta: the shift is {}, the weight of the plain image {}; the first must not be "
                    "negative, the second must be in [0, 1]",
                    views.shift,
                    views.plain.value_or(0.5));
}

void TestTimeAugmentation::loss_begin(Learner& learn) {
  if (learn.progress().training) return;
  const BatchRun& batch = learn.batch();
  learn.set_pred(
      nn::predict_views(learn.model(), batch.x, batch.padding, batch.pred, views_, targets_));
}

void register_test_time_augmentation(CallbackRegistry& registry) {
  registry.add(
      "tta",
      "validates with the mean prediction for several views of an image",
      std::string("mirror"),
      [](OptionTable& t, std::string& views) {
        declare_spec(t,
                     "views",
                     views,
                     nn::view_registry(),
                     "NAME|(NAME:OPTION=...)",
                     "one of " + join(nn::view_registry().names()));
      },
      [](const std::string& views, const RunSettings& run) {
        return make_callback<TestTimeAugmentation>(
            Role::trains, nn::view_registry().make(views)(), run.targets);
      });
}

}  // namespace learn::callbacks
