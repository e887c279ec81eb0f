// How events reach the callbacks, and how scopes open, close and are cancelled (ADR 0003).
#include "framework/core/log.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace learn {
namespace {

using Handler = void (Callback::*)(Learner&);

/// The handlers of the table's events, in its order.
constexpr std::array<Handler, kEventTable.size()> kHandlers{
#define LEARN_HANDLER(name, role, scope) &Callback::name,
    LEARN_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
};

struct Bracket {
  Event begin;
  Event end;
};

constexpr Bracket bracket(Scope scope) {
  Bracket found{};
  for (const EventInfo& info : kEventTable) {
    if (info.scope != scope) continue;
    if (info.role == EventRole::opens) found.begin = info.event;
    if (info.role == EventRole::closes) found.end = info.event;
  }
  return found;
}

/// Events inside a scope stop at the handler that cancels. Those that open or close one reach
/// everyone, so that whoever hears a beginning hears the end.
constexpr bool stops_when_cancelled(Event event) {
  return kEventTable[index_of(event)].role == EventRole::inside;
}

}  // namespace

void Learner::emit(Event event) {
  const Handler handler = kHandlers.at(index_of(event));
  for (const Slot& slot : slots_) {
    if (!slot.events[index_of(event)]) continue;
    running_ = {slot.callback.get(), event};
    const Tensor seed = state_.seed;
    (slot.callback.get()->*handler)(*this);
    if (seeder_ == nullptr && !state_.seed.same_memory(seed)) seeder_ = slot.callback.get();
    if (cancelled_ && stops_when_cancelled(event)) break;
  }
  running_ = {};
}

void Learner::emit_cancelled(Scope scope) {
  for (const Slot& slot : slots_) {
    if (!slot.events[index_of(Event::cancelled)]) continue;
    running_ = {slot.callback.get(), Event::cancelled};
    slot.callback->cancelled(*this, scope);
  }
  running_ = {};
}

void Learner::emit_error(const std::exception& error) noexcept {
  for (const Slot& slot : slots_) {
    if (!slot.events[index_of(Event::error)]) continue;
    running_ = {slot.callback.get(), Event::error};
    try {
      slot.callback->error(*this, error);
    } catch (const std::exception& second) {
      log::error(
          "[learner] the error handler of '{}' threw: {}", slot.callback->name(), second.what());
    }
  }
}

void Learner::run(Scope scope, FunctionRef<void()> body) {
  const Bracket events = bracket(scope);
  const std::size_t index = open_.size();
  open_.push_back(scope);
  emit(events.begin);
  if (!cancelled_) body();
  settle(scope);
  if (cancelled_ == index) emit_cancelled(scope);
  emit(events.end);
  open_.pop_back();
  if (cancelled_ && *cancelled_ >= index) cancelled_.reset();
}

void Learner::cancel(Scope scope) {
  const auto found = std::find(open_.rbegin(), open_.rend(), scope);
  check<std::logic_error>(found != open_.rend(),
                          "{}: cancel({}): that scope is not open here",
                          asking(),
                          name_of(scope));
  const auto index = static_cast<std::size_t>(open_.rend() - found) - 1;
  cancelled_ = std::min(cancelled_.value_or(index), index);
}

void Learner::skip_step() {
  if (running_.event == Event::step_begin) return cancel(Scope::step);
  check<std::logic_error>(
      running_.event == Event::backward_begin || running_.event == Event::backward_end,
      "{}: skip_step belongs into backward_begin, backward_end or step_begin",
      asking());
  skipped_ = true;
}

void Learner::defer_step() {
  check<std::logic_error>(running_.event == Event::backward_begin,
                          "{}: defer_step belongs into backward_begin",
                          asking());
  state_.deferred = true;
}

nn::ParamStore& Learner::scaled_grads() {
  check<std::logic_error>(running_.event == Event::backward_end,
                          "{}: scaled gradients exist at backward_end only",
                          asking());
  check<std::logic_error>(unscaler_ == nullptr,
                          "{}: asked for scaled gradients, but '{}' has already unscaled them; ask "
                          "for grads() at step_begin, or run before it (lower order)",
                          asking(),
                          unscaler_ != nullptr ? unscaler_->name() : "");
  return params();
}

nn::ParamStore& Learner::grads() {
  const std::string_view seeder = seeder_ != nullptr ? seeder_->name() : "nobody";
  check<std::logic_error>(running_.event == Event::step_begin,
                          "{}: asked for unscaled gradients; they exist at step_begin only ('{}' "
                          "scales the backward pass)",
                          asking(),
                          seeder);
  check<std::logic_error>(seeder_ == nullptr || unscaler_ != nullptr,
                          "{}: asked for unscaled gradients, but '{}' has set a gradient seed and "
                          "not called grads_unscaled()",
                          asking(),
                          seeder);
  return params();
}

void Learner::grads_unscaled() {
  check<std::logic_error>(running_.event == Event::backward_end,
                          "{}: grads_unscaled belongs into backward_end",
                          asking());
  unscaler_ = running_.callback;
}

std::string Learner::asking() const {
  if (running_.callback == nullptr) return "outside of any handler";
  return fmt::format("'{}' at {}", running_.callback->name(), name_of(running_.event));
}

void Learner::require_idle(std::string_view what) const {
  check<std::logic_error>(state_.activity == Activity::none,
                          "{}: {} cannot be called while the learner runs",
                          asking(),
                          what);
}

void Learner::drive(Activity activity, FunctionRef<void()> body) {
  // NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): never copied
  struct BackToIdle {
    Learner& learn;
    ~BackToIdle() {
      learn.release_batch();
      learn.open_.clear();
      learn.cancelled_.reset();
      learn.running_ = {};
      learn.state_.gradients_held = false;
      learn.state_.training = false;
      learn.state_.activity = Activity::none;
    }
  };
  const BackToIdle guard{*this};
  state_.activity = activity;
  try {
    body();
  } catch (const std::exception& error) {
    emit_error(error);
    throw;
  } catch (...) {
    emit_error(std::runtime_error("an exception that is no std::exception"));
    throw;
  }
}

std::vector<const Callback*> Learner::listeners(Event event) const {
  std::vector<const Callback*> out;
  for (const Slot& slot : slots_)
    if (slot.events[index_of(event)]) out.push_back(slot.callback.get());
  return out;
}

}  // namespace learn
