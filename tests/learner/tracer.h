#pragma once
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <cctype>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tiny {

/// The row of an event in the table.
inline const learn::EventInfo& info_of(learn::Event event) {
  return learn::kEventTable.at(learn::index_of(event));
}

/// The short names of events in traces: brackets for scopes, letters for what lies inside a batch.
inline std::string mark_of(learn::Event event) {
  if (event == learn::Event::backward_end) return "d";
  const learn::EventInfo& info = info_of(event);
  if (info.role == learn::EventRole::inside) return std::string(info.name.substr(0, 1));
  const auto scope = static_cast<char>(std::toupper(name_of(info.scope).front()));
  return info.role == learn::EventRole::opens ? fmt::format("{}(", scope)
                                              : fmt::format("){}", scope);
}

/// Hears every event and calls one function with it; the base of the others.
class EveryEvent : public learn::Callback {
 public:
#define LEARN_HANDLER(name, role, scope) \
  void name(learn::Learner& l) override { heard(l, learn::Event::name); }
  LEARN_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER

 protected:
  virtual void heard(learn::Learner& learn, learn::Event event) = 0;
};

/// Writes down what it hears, after everyone else has acted, or in the order given.
class Tracer final : public EveryEvent {
 public:
  explicit Tracer(int order = 1000) : order_(order) {}
  [[nodiscard]] std::string_view name() const override { return "tracer"; }
  [[nodiscard]] int order() const override { return order_; }
  void cancelled(learn::Learner&, learn::Scope scope) override {
    note(fmt::format("!{}", name_of(scope)));
  }
  void error(learn::Learner&, const std::exception& e) override {
    note(fmt::format("#{}", e.what()));
  }
  std::string trace;

 protected:
  void heard(learn::Learner&, learn::Event event) override { note(mark_of(event)); }

 private:
  void note(const std::string& mark) {
    if (!trace.empty()) trace += ' ';
    trace += mark;
  }

  int order_;
};

/// Does something at the first occurrence of one event, in training or in validation.
class Once final : public EveryEvent {
 public:
  Once(learn::Event at, bool training, std::function<void(learn::Learner&)> action)
      : at_(at), training_(training), action_(std::move(action)) {}
  [[nodiscard]] std::string_view name() const override { return "once"; }
  bool done = false;

 protected:
  void heard(learn::Learner& learn, learn::Event event) override {
    if (done || event != at_) return;
    const learn::Scope scope = info_of(event).scope;
    const bool in_batch = scope == learn::Scope::batch || scope == learn::Scope::step;
    if (in_batch && learn.progress().training != training_) return;
    done = true;
    action_(learn);
  }

 private:
  learn::Event at_;
  bool training_;
  std::function<void(learn::Learner&)> action_;
};

/// Does something at each occurrence of one event.
class Each final : public EveryEvent {
 public:
  Each(learn::Event at, std::function<void(learn::Learner&)> action)
      : at_(at), action_(std::move(action)) {}
  [[nodiscard]] std::string_view name() const override { return "each"; }

 protected:
  void heard(learn::Learner& learn, learn::Event event) override {
    if (event == at_) action_(learn);
  }

 private:
  learn::Event at_;
  std::function<void(learn::Learner&)> action_;
};

}  // namespace tiny
