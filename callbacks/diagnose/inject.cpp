#include "callbacks/diagnose/inject.h"

#include "callbacks/diagnose/fault_planter.h"
#include "callbacks/registry.h"
#include "framework/autograd/ops.h"
#include "framework/core/log.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>

namespace learn::callbacks {
namespace {

bool in_gradients(FaultKind kind) { return kind == FaultKind::overflow || kind == FaultKind::nan; }

bool at_any_event(FaultKind kind) { return kind == FaultKind::raise || kind == FaultKind::kill; }

bool in_activations(FaultKind kind) {
  return kind == FaultKind::overflow_act || kind == FaultKind::nan_act;
}

bool of_parameter(const Fault& fault, const nn::ParamStore& params) {
  return in_gradients(fault.kind) && (fault.place.empty() || params.find(fault.place) >= 0);
}

/// Throws UsageError unless the model has the place that a fault names.
void check_place(const Fault& fault, const nn::ParamStore& params) {
  if (fault.place.empty() || of_parameter(fault, params)) return;
  if (!in_gradients(fault.kind) && !in_activations(fault.kind)) return;
  std::vector<std::string> known = params.module_paths();
  if (std::ranges::find(known, fault.place) != known.end()) return;
  for (std::int64_t i = 0; in_gradients(fault.kind) && i < params.size(); ++i)
    known.push_back(params.info(i).name);
  std::erase(known, "");
  fail<UsageError>("inject: the model has no {} '{}' for {}{}; it has: {}",
                   in_gradients(fault.kind) ? "module or parameter" : "module",
                   fault.place,
                   name_of(fault.kind),
                   did_you_mean(fault.place, known),
                   join(known));
}

/// Returns the parameter of a fault, by default the first trained one.
ParamSlot& parameter_of(const Fault& fault, nn::ParamStore& params, std::int64_t batch) {
  for (std::int64_t i = 0; i < params.size(); ++i) {
    const bool meant = fault.place.empty() || params.info(i).name == fault.place;
    if (meant && params.slot(i).trainable) return params.slot(i);
  }
  fail<UsageError>("inject: batch {} has no gradient of '{}' for {}: it is not trained",
                   batch,
                   fault.place,
                   name_of(fault.kind));
}

}  // namespace

FaultInjection::FaultInjection(std::vector<Fault> faults)
    : faults_(std::move(faults)), struck_(faults_.size(), false) {
  check<UsageError>(!faults_.empty(), "inject: the list of faults is empty");
}

FaultInjection::~FaultInjection() = default;

void FaultInjection::attached(Learner& learn) {
  for (const Fault& fault : faults_) check_place(fault, learn.params());
}

std::vector<Fault> FaultInjection::inside_passes(const Learner& learn) const {
  std::vector<Fault> found;
  for (const Fault& fault : faults_)
    if (fault.at(batch_) && (in_activations(fault.kind) ||
                             (in_gradients(fault.kind) && !of_parameter(fault, learn.params()))))
      found.push_back(fault);
  return found;
}

void FaultInjection::tell(const Fault& fault) {
  struck_.at(static_cast<std::size_t>(&fault - faults_.data())) = true;
  log::info("[inject] batch {}: {}{}{}",
            batch_,
            name_of(fault.kind),
            fault.place.empty() ? "" : " in ",
            fault.place);
}

void FaultInjection::train_end(Learner&) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    if (!struck_[i])
      log::warn("[inject] {} at batch {} did not occur{}: the training ended after batch {}",
                name_of(fault.kind),
                fault.first,
                at_any_event(fault.kind) && fault.first <= batch_
                    ? fmt::format(", which has no {}", name_of(fault.event))
                    : "",
                batch_);
  }
}

void FaultInjection::heard(Learner& learn, Event event) {
  if (!learn.progress().training) return;
  if (event == Event::batch_begin) begin_batch(learn);
  if (event == Event::batch_end) planter_.reset();
  strike(event);
  if (event == Event::batch_begin) {
    std::vector<Fault> inside = inside_passes(learn);
    if (!inside.empty()) planter_ = std::make_unique<FaultPlanter>(learn.tape(), std::move(inside));
  } else if (event == Event::backward_begin) {
    for (const Fault& fault : faults_)
      if (fault.kind == FaultKind::inf_loss && fault.at(batch_))
        learn.set_loss(ops::scale(learn.batch().loss, std::numeric_limits<double>::infinity()));
  } else if (event == Event::backward_end) {
    plant_gradients(learn);
  }
}

void FaultInjection::begin_batch(Learner& learn) {
  batch_ = learn.progress().batch_clock + 1;
  for (const Fault& fault : faults_) {
    if (!fault.at(batch_) || at_any_event(fault.kind)) continue;
    tell(fault);
    if (fault.kind == FaultKind::slow)
      std::this_thread::sleep_for(std::chrono::duration<double>(fault.amount));
  }
}

/// Applies the faults that are possible at any event.
void FaultInjection::strike(Event event) {
  for (const Fault& fault : faults_) {
    if (!fault.at(batch_) || fault.event != event || !at_any_event(fault.kind)) continue;
    tell(fault);
    if (fault.kind == FaultKind::raise)
      fail<Error>("inject: thrown at {} of batch {}, as requested", name_of(event), batch_);
    if (fault.kind == FaultKind::kill) (void)std::raise(SIGKILL);
  }
}

void FaultInjection::plant_gradients(Learner& learn) {
  if (planter_ != nullptr && !planter_->missed().empty())
    fail<UsageError>(
        "inject: batch {} has no gradient of the output of '{}': it is not trained, or "
        "not part of the forward pass",
        batch_,
        planter_->missed().front().place);
  Context& ctx = learn.context();
  nn::ParamStore& params = learn.scaled_grads();
  for (const Fault& fault : faults_) {
    if (!fault.at(batch_)) continue;
    if (of_parameter(fault, params))
      plant(ctx, fault.kind, parameter_of(fault, params, batch_).grad);
    if (fault.kind != FaultKind::spike) continue;
    for (std::int64_t i = 0; i < params.size(); ++i)
      if (ParamSlot& slot = params.slot(i); slot.trainable)
        kernels::scale(ctx, slot.grad, fault.amount, slot.grad);
  }
}

void FaultInjection::error(Learner&, const std::exception&) { planter_.reset(); }

std::unique_ptr<FaultPlanter> FaultInjection::plant_again(Learner& learn,
                                                          Tape& tape,
                                                          ForwardObserver* forward,
                                                          BackwardObserver* backward) const {
  std::vector<Fault> inside = inside_passes(learn);
  if (inside.empty()) return nullptr;
  return std::make_unique<FaultPlanter>(tape, std::move(inside), forward, backward);
}

void register_inject(CallbackRegistry& registry) {
  registry.add(
      "inject",
      "injects faults into training batches, to rehearse failures",
      std::string(),
      [](OptionTable& t, std::string& faults) {
        Option& option = t.text("faults",
                                faults,
                                "FAULT@N[:WHERE],...",
                                "faults and their training batches, counted from 1: overflow, nan, "
                                "overflow_act, nan_act, spike, inf_loss, slow, throw, kill");
        option.set = [&faults](const std::string& text) {
          (void)parse_faults(text);
          faults = text;
        };
      },
      [](const std::string& faults, const RunSettings&) {
        return make_callback<FaultInjection>(Role::trains, parse_faults(faults));
      });
}

}  // namespace learn::callbacks
