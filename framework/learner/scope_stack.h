#pragma once
#include "framework/learner/event.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace learn {

/// The scopes that are open, outermost first, and which of them was cancelled (ADR 0003).
class ScopeStack {
 public:
  void open(Scope scope) { open_.push_back(scope); }
  /// Closes the innermost scope. Its cancellation ends with it.
  void close() {
    open_.pop_back();
    if (cancelled_ && *cancelled_ >= open_.size()) cancelled_.reset();
  }
  /// Closes what is open inside the innermost `scope`, after an attempt that threw.
  void unwind_to(Scope scope) {
    while (open_.back() != scope) open_.pop_back();
  }
  void clear() { *this = {}; }

  /// False if `scope` is not open. The outermost request wins.
  [[nodiscard]] bool cancel(Scope scope) {
    const auto found = std::find(open_.rbegin(), open_.rend(), scope);
    if (found == open_.rend()) return false;
    const auto index = static_cast<std::size_t>(open_.rend() - found) - 1;
    cancelled_ = std::min(cancelled_.value_or(index), index);
    return true;
  }
  /// An open scope is ending early, and with it all that are open inside.
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.has_value(); }
  /// It is the innermost one that was cancelled.
  [[nodiscard]] bool innermost_cancelled() const noexcept {
    return cancelled_ && *cancelled_ + 1 == open_.size();
  }
  [[nodiscard]] bool cancelled(Scope scope) const {
    return cancelled_ && open_[*cancelled_] == scope;
  }

 private:
  std::vector<Scope> open_;
  std::optional<std::size_t> cancelled_;
};

}  // namespace learn
