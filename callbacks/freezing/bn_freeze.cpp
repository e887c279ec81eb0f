#include "callbacks/freezing/bn_freeze.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {
namespace {

bool has_frozen_norm(const nn::ParamStore& params) {
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (nn::is_norm(params.info(i).role) && !params.slot(i).trainable) return true;
  return false;
}

}  // namespace

std::vector<std::string> BnFreeze::claims() const { return {"freeze the running statistics"}; }

void BnFreeze::train_begin(Learner& learn) {
  if (!has_frozen_norm(learn.params()))
    log::warn(
        "[bn_freeze] no BatchNorm layer is frozen, so it changes nothing: freeze layer groups with "
        "train_bn = false (--freeze N --no-train-bn)");
  learn.set_training_mode(ForwardMode::train_unfrozen);
}

void BnFreeze::train_end(Learner& learn) { learn.set_training_mode(ForwardMode::train); }

void BnFreeze::error(Learner& learn, const std::exception&) {
  learn.set_training_mode(ForwardMode::train);
}

void register_bn_freeze(CallbackRegistry& registry) {
  registry.add("bn_freeze",
               "frozen BatchNorm layers use their running statistics and do not update them",
               [](const RunSettings&) { return make_callback<BnFreeze>(Role::trains); });
}

}  // namespace learn::callbacks
