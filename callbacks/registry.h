#pragma once
#include "framework/core/registry.h"
#include "framework/io/safetensors.h"
#include "framework/learner/callback.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
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

  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback);
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

/// What callbacks made from text take from the run they belong to.
struct RunSettings {
  std::filesystem::path folder = ".";  ///< where relative paths in options begin
  std::string title;                   ///< of plots
  std::string monitor = "valid_loss";  ///< of those that name none
  Metadata metadata;                   ///< goes into checkpoints
};

/// A callback with the events it handles, for `Learner::insert`.
struct CallbackWithEvents {
  std::unique_ptr<Callback> callback;
  EventSet events;
};

/// Makes a callback from options.
struct CallbackFactory {
  std::function<CallbackWithEvents(CallbackOptions&, const RunSettings&)> make;
  bool reports = false;  ///< shows or writes what happens; the training is the same without it
};

/// Every callback that needs nothing but options, by name, with a line of help that lists them. To
/// add one, add a line to registry.cpp.
[[nodiscard]] Registry<CallbackFactory> callback_registry();

/// Makes what "gradient_clip:limit=1,by=norm" says; no file is touched before the training begins.
/// Throws UsageError for an unknown name, option or value, and for a callback that text cannot
/// describe, with what to use instead.
[[nodiscard]] CallbackWithEvents make_from_text(std::string_view spec, const RunSettings& run = {});
/// True for a callback that reports. Throws UsageError for an unknown name.
[[nodiscard]] bool reports(std::string_view spec);
/// Adds what `make_from_text` makes. Throws as that and as `Learner::insert`.
Callback& add_from_text(Learner& learn, std::string_view spec, const RunSettings& run = {});

}  // namespace learn::callbacks
