#pragma once
#include "framework/core/registry.h"
#include "framework/learner/callback.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace learn::callbacks {

/// Options of one callback as text, "max_norm=1,by=norm", read by name. Whoever reads them calls
/// `finish` last, so that no option is ignored in silence.
class CallbackOptions {
 public:
  /// `owner` names the callback in error texts. Throws UsageError for text that is not a list of
  /// key=value, or that gives a key twice.
  CallbackOptions(std::string owner, std::string_view text);

  [[nodiscard]] std::string text(const std::string& key, std::string fallback);
  /// These throw UsageError for text that is no such number, or neither "true" nor "false".
  [[nodiscard]] double real(const std::string& key, double fallback);
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback);
  [[nodiscard]] bool flag(const std::string& key, bool fallback);
  [[nodiscard]] bool has(const std::string& key) const { return given_.contains(key); }
  /// Throws UsageError if an option was given that nobody has asked for; lists what was asked for.
  void finish() const;

 private:
  [[nodiscard]] const std::string* take(const std::string& key);

  std::string owner_;
  std::map<std::string, std::string> given_;
  std::map<std::string, bool> asked_;  // key: was given
};

/// Adds a callback made from options to a learner.
using CallbackFactory = std::function<Callback&(Learner&, CallbackOptions&)>;

/// Every callback that needs nothing but options, by name, with a line of help that lists them. To
/// add one, add a line to registry.cpp.
[[nodiscard]] Registry<CallbackFactory> callback_registry();

/// Adds what "gradient_clip:limit=1,by=norm" says. Throws UsageError for an unknown name, option or
/// value, and as `Learner::insert`.
Callback& add_from_text(Learner& learn, std::string_view spec);

}  // namespace learn::callbacks
