#pragma once
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tiny {

/// The short names of events in traces: brackets for scopes, letters for what lies inside a batch.
inline std::string mark_of(learn::Event event) {
  switch (event) {
    case learn::Event::train_begin:
      return "T(";
    case learn::Event::epoch_begin:
      return "E(";
    case learn::Event::batch_begin:
      return "B(";
    case learn::Event::loss_begin:
      return "l";
    case learn::Event::backward_begin:
      return "b";
    case learn::Event::backward_end:
      return "d";
    case learn::Event::step_begin:
      return "S(";
    case learn::Event::step_end:
      return ")S";
    case learn::Event::batch_end:
      return ")B";
    case learn::Event::validate_begin:
      return "V(";
    case learn::Event::validate_end:
      return ")V";
    case learn::Event::epoch_end:
      return ")E";
    case learn::Event::train_end:
      return ")T";
    default:
      return "?";
  }
}

/// Hears every event and calls one function with it; the base of the other two.
class EveryEvent : public learn::Callback {
 public:
  void train_begin(learn::Learner& l) override { heard(l, learn::Event::train_begin); }
  void epoch_begin(learn::Learner& l) override { heard(l, learn::Event::epoch_begin); }
  void batch_begin(learn::Learner& l) override { heard(l, learn::Event::batch_begin); }
  void loss_begin(learn::Learner& l) override { heard(l, learn::Event::loss_begin); }
  void backward_begin(learn::Learner& l) override { heard(l, learn::Event::backward_begin); }
  void backward_end(learn::Learner& l) override { heard(l, learn::Event::backward_end); }
  void step_begin(learn::Learner& l) override { heard(l, learn::Event::step_begin); }
  void step_end(learn::Learner& l) override { heard(l, learn::Event::step_end); }
  void batch_end(learn::Learner& l) override { heard(l, learn::Event::batch_end); }
  void validate_begin(learn::Learner& l) override { heard(l, learn::Event::validate_begin); }
  void validate_end(learn::Learner& l) override { heard(l, learn::Event::validate_end); }
  void epoch_end(learn::Learner& l) override { heard(l, learn::Event::epoch_end); }
  void train_end(learn::Learner& l) override { heard(l, learn::Event::train_end); }

 protected:
  virtual void heard(learn::Learner& learn, learn::Event event) = 0;
};

/// Writes down what it hears, after everyone else has acted.
class Tracer final : public EveryEvent {
 public:
  [[nodiscard]] std::string_view name() const override { return "tracer"; }
  [[nodiscard]] int order() const override { return 1000; }
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
    const bool in_batch = event != learn::Event::train_begin && event != learn::Event::train_end &&
                          event != learn::Event::epoch_begin && event != learn::Event::epoch_end &&
                          event != learn::Event::validate_begin &&
                          event != learn::Event::validate_end;
    if (in_batch && learn.state().training != training_) return;
    done = true;
    action_(learn);
  }

 private:
  learn::Event at_;
  bool training_;
  std::function<void(learn::Learner&)> action_;
};

}  // namespace tiny
