// Events and scopes (ADR 0003): how they open, close and are cancelled, and what handlers may do.
#include "framework/learner/learner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace learn {
namespace {

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

/// Events inside a scope stop at the handler that cancels. Events that open or close a scope reach
/// all callbacks, so that a callback that receives a begin event also receives the end event.
constexpr bool stops_when_cancelled(Event event) {
  return kEventTable[index_of(event)].role == EventRole::inside;
}

std::string_view name_or_nobody(const Callback* callback) {
  return callback != nullptr ? callback->name() : "nobody";
}

}  // namespace

void Learner::emit(Event event) {
  callbacks_.emit(*this, event, [&] { return cancelled() && stops_when_cancelled(event); });
}

void Learner::run(Scope scope, FunctionRef<void()> body) {
  const Bracket events = bracket(scope);
  scopes_.open(scope);
  emit(events.begin);
  if (!cancelled()) body();
  finish(scope);
  if (scopes_.innermost_cancelled()) callbacks_.emit_cancelled(*this, scope);
  emit(events.end);
  scopes_.close();
}

void Learner::run_activity(Activity activity, FunctionRef<void()> body) {
  // NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): never copied
  struct ActivityGuard {
    Learner& learn;
    ~ActivityGuard() {
      learn.release_batch();
      learn.scopes_.clear();
      learn.callbacks_.reset();
      learn.state_.progress.gradients_held = false;
      learn.state_.progress.training = false;
      learn.state_.progress.activity = Activity::none;
    }
  };
  const ActivityGuard guard{*this};
  state_.progress.activity = activity;
  try {
    body();
  } catch (const std::exception& error) {
    callbacks_.emit_error(*this, error);
    throw;
  } catch (...) {
    callbacks_.emit_error(*this, std::runtime_error("an exception that is not a std::exception"));
    throw;
  }
}

void Learner::require_model(std::string_view what) const {
  check<std::logic_error>(
      model_.module != nullptr,
      "{}: this learner's model was moved out by take_model(); use the learner that has it now",
      what);
}

void Learner::require_idle(std::string_view what) const {
  require_model(what);
  check<std::logic_error>(state_.progress.activity == Activity::none,
                          "{}: {} cannot be called while the learner runs",
                          current_handler(),
                          what);
}

template <std::same_as<Event>... Events>
void Learner::require_at(std::string_view what, Events... events) const {
  if (callbacks_.at(events...)) return;
  std::string places;
  ((places += std::string(places.empty() ? "" : ", ") + std::string(name_of(events))), ...);
  fail<std::logic_error>("{}: {} may be called only in {}", current_handler(), what, places);
}

void Learner::cancel(Scope scope) {
  check<std::logic_error>(scopes_.cancel(scope),
                          "{}: cancel({}): that scope is not open here",
                          current_handler(),
                          name_of(scope));
}

void Learner::skip_step() {
  if (callbacks_.at(Event::step_begin)) return cancel(Scope::step);
  require_at("skip_step", Event::backward_begin, Event::backward_end, Event::step_begin);
  batch_.outcome = Outcome::skipped;
}

void Learner::defer_step() {
  require_at("defer_step", Event::backward_begin);
  if (batch_.outcome == Outcome::pending) batch_.outcome = Outcome::deferred;
}

void Learner::set_x(Tensor x) {
  require_at("set_x", Event::batch_begin);
  batch_.x = std::move(x);
}

void Learner::set_y(Tensor y) {
  require_at("set_y", Event::batch_begin, Event::loss_begin);
  batch_.y = std::move(y);
}

void Learner::set_loss_y(Tensor y) {
  require_at("set_loss_y", Event::batch_begin);
  batch_.loss_y = std::move(y);
}

void Learner::set_pred(Var pred) {
  require_at("set_pred", Event::loss_begin);
  batch_.pred = std::move(pred);
}

void Learner::set_loss(Var loss) {
  require_at("set_loss", Event::backward_begin);
  batch_.loss = std::move(loss);
}

void Learner::set_seed(Tensor seed) {
  require_at("set_seed", Event::backward_begin);
  batch_.seed = std::move(seed);
  const Callback* const setter = callbacks_.running();
  if (batch_.seed_set_by == nullptr) batch_.seed_set_by = setter;
  if (std::ranges::find(seeded_by_, setter) == seeded_by_.end()) seeded_by_.push_back(setter);
}

void Learner::set_planned_steps(std::int64_t steps) {
  require_at("set_planned_steps", Event::train_begin);
  state_.progress.fit_steps = steps;
}

bool Learner::step_applied() const {
  require_at("step_applied", Event::step_end, Event::batch_end);
  return batch_.outcome == Outcome::stepped && optimizer_->read_control().overflows == 0;
}

void Learner::add_metric(std::string name, double value) {
  require_at("add_metric", Event::validate_end);
  for (auto& [known, its_value] : state_.results.metrics)
    if (known == name) {
      its_value = value;
      return;
    }
  state_.results.metrics.emplace_back(std::move(name), value);
}

nn::ParamStore& Learner::scaled_grads() {
  check<std::logic_error>(callbacks_.at(Event::backward_end),
                          "{}: scaled gradients exist at backward_end only",
                          current_handler());
  check<std::logic_error>(batch_.unscaled_by == nullptr,
                          "{}: asked for scaled gradients, but '{}' has already unscaled them; ask "
                          "for grads() at step_begin, or run before it (lower order)",
                          current_handler(),
                          name_or_nobody(batch_.unscaled_by));
  return params();
}

nn::ParamStore& Learner::grads() {
  check<std::logic_error>(callbacks_.at(Event::step_begin),
                          "{}: asked for unscaled gradients; they exist at step_begin only ('{}' "
                          "scales the backward pass)",
                          current_handler(),
                          name_or_nobody(batch_.seed_set_by));
  check<std::logic_error>(seeded_by_.empty(),
                          "{}: asked for unscaled gradients, but '{}' has set a gradient seed and "
                          "not called grads_unscaled()",
                          current_handler(),
                          seeded_by_.empty() ? "" : seeded_by_.front()->name());
  return params();
}

void Learner::grads_unscaled() {
  require_at("grads_unscaled", Event::backward_end);
  batch_.unscaled_by = callbacks_.running();
  std::erase(seeded_by_, callbacks_.running());
}

}  // namespace learn
