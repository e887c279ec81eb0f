#pragma once
#include "framework/learner/callback.h"

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

namespace learn {

/// A callback for single fits (`Learner::fit`), with the events that it handles. It belongs to
/// whoever holds it, who can read it after the fit and give it to another.
struct FitCallback {
  /// From `std::make_shared<C>(...)`.
  template <std::derived_from<Callback> C>
  requires(!std::same_as<C, Callback>)        // whose events could not be known
      FitCallback(std::shared_ptr<C> shared)  // not explicit: a list of callbacks is one of these
      : callback(std::move(shared)), events(handled_by<C>()) {}
  /// For callbacks made by the registry.
  FitCallback(std::shared_ptr<Callback> shared, EventSet handled)
      : callback(std::move(shared)), events(handled) {}

  std::shared_ptr<Callback> callback;
  EventSet events;
};

/// `{std::make_shared<EarlyStopping>(options), another}`.
using FitCallbacks = std::vector<FitCallback>;

}  // namespace learn
