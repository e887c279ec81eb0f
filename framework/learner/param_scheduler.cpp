#include "framework/learner/param_scheduler.h"

#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

namespace learn {
namespace {

struct HyperInfo {
  Hyper hyper;
  std::string_view name;
  float GroupHypers::*member;
};

constexpr std::array kHypers{
    HyperInfo{Hyper::lr, "lr", &GroupHypers::lr},
    HyperInfo{Hyper::momentum, "momentum", &GroupHypers::momentum},
    HyperInfo{Hyper::weight_decay, "weight_decay", &GroupHypers::weight_decay},
    HyperInfo{Hyper::dampening, "dampening", &GroupHypers::dampening},
    HyperInfo{Hyper::beta2, "beta2", &GroupHypers::beta2},
    HyperInfo{Hyper::eps, "eps", &GroupHypers::eps},
};

const HyperInfo& info_of(Hyper hyper) {
  return *std::find_if(
      kHypers.begin(), kHypers.end(), [&](const HyperInfo& info) { return info.hyper == hyper; });
}

double share_done(const FitProgress& fit, Clock clock) {
  const bool batches = clock == Clock::batch;
  const std::int64_t done =
      batches ? fit.batch_clock - fit.fit_first_batch : fit.step_clock - fit.fit_first_step;
  const std::int64_t planned = batches ? fit.fit_batches : fit.fit_steps;
  return planned > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(planned)) : 0;
}

}  // namespace

float value_of(const GroupHypers& hypers, Hyper hyper) noexcept {
  return hypers.*info_of(hyper).member;
}

std::string_view name_of(Hyper hyper) noexcept { return info_of(hyper).name; }

std::vector<std::pair<std::string, Hyper>> hypers_by_name() {
  std::vector<std::pair<std::string, Hyper>> all;
  all.reserve(kHypers.size());
  for (const HyperInfo& info : kHypers) all.emplace_back(info.name, info.hyper);
  return all;
}

std::vector<ScheduledHyper> scheduled(const optim::LearningRates& lrs,
                                      int layer_groups,
                                      FunctionRef<optim::Course(double lr)> course) {
  ScheduledHyper lr{Hyper::lr, {}};
  ScheduledHyper momentum{Hyper::momentum, {}, true};
  for (const float rate : lrs.spread(layer_groups)) {
    optim::Course one = course(static_cast<double>(rate));
    lr.schedules.push_back(std::move(one.lr));
    if (one.momentum) momentum.schedules.push_back(std::move(one.momentum));
  }
  std::vector all{std::move(lr)};
  if (!momentum.schedules.empty()) all.push_back(std::move(momentum));
  return all;
}

ParamScheduler::ParamScheduler(std::vector<ScheduledHyper> scheduled, Clock clock, std::string name)
    : scheduled_(std::move(scheduled)), clock_(clock), name_(std::move(name)) {
  check<UsageError>(!scheduled_.empty(), "{}: nothing to schedule", name_);
  std::set<Hyper> seen;
  for (const ScheduledHyper& one : scheduled_) {
    check<UsageError>(
        !one.schedules.empty(), "{}: no schedule for '{}'", name_, name_of(one.hyper));
    check<UsageError>(
        seen.insert(one.hyper).second, "{}: '{}' is scheduled twice", name_, name_of(one.hyper));
  }
}

std::vector<std::string> ParamScheduler::claims() const {
  std::vector<std::string> out;
  for (const ScheduledHyper& one : scheduled_)
    out.push_back(fmt::format("set the {}", name_of(one.hyper)));
  return out;
}

void ParamScheduler::check_layer_groups(std::size_t layer_groups) const {
  for (const ScheduledHyper& one : scheduled_)
    check<UsageError>(one.schedules.size() == 1 || one.schedules.size() == layer_groups,
                      "{}: {} schedules for '{}', but the model has {} layer groups",
                      name_,
                      one.schedules.size(),
                      name_of(one.hyper),
                      layer_groups);
}

void ParamScheduler::train_begin(Learner& learn) {
  check_layer_groups(static_cast<std::size_t>(learn.params().layer_groups()));
  before_ = learn.optimizer().all_hypers();
}

void ParamScheduler::batch_begin(Learner& learn) {
  if (!learn.progress().training) return;
  if (clock_ == Clock::step) learn.sync_step_clock();
  optim::Optimizer& optimizer = learn.optimizer();
  std::vector<GroupHypers> hypers = optimizer.all_hypers();
  set(hypers, before_, optimizer.options().decay_bn_bias, share_done(learn.progress(), clock_));
  optimizer.set_all_hypers(hypers);
}

void ParamScheduler::set(std::vector<GroupHypers>& hypers,
                         const std::vector<GroupHypers>& before,
                         bool decay_bn_bias,
                         double t) const {
  check_layer_groups(before.size() / 2);
  for (const ScheduledHyper& scheduled : scheduled_) {
    const auto member = info_of(scheduled.hyper).member;
    for (std::size_t g = 0; g < before.size(); ++g) {
      const nn::ParamGroup params = nn::param_group(static_cast<int>(g));
      // A group that is exempt from decay stays so.
      if (scheduled.hyper == Hyper::weight_decay && !params.weights && !decay_bn_bias) continue;
      if (scheduled.where_used && before[g].*member == 0) continue;
      const std::size_t which =
          scheduled.schedules.size() == 1 ? 0 : static_cast<std::size_t>(params.layer_group);
      hypers[g].*member = static_cast<float>(scheduled.schedules[which](t));
    }
  }
}

void ParamScheduler::restore(Learner& learn) {
  for (std::size_t g = 0; g < before_.size(); ++g) {
    GroupHypers hypers = learn.optimizer().hypers(static_cast<int>(g));
    for (const ScheduledHyper& one : scheduled_) {
      const auto member = info_of(one.hyper).member;
      hypers.*member = before_[g].*member;
    }
    learn.optimizer().set_hypers(static_cast<int>(g), hypers);
  }
  before_.clear();
}

void ParamScheduler::train_end(Learner& learn) { restore(learn); }

void ParamScheduler::error(Learner& learn, const std::exception&) { restore(learn); }

}  // namespace learn
