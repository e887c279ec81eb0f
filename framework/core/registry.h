#pragma once
#include "framework/core/error.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn {

/// Names to values (usually factories), each with a line of help. An object, not a global: it is
/// filled by one function that lists everything, so nothing depends on static initialisation.
template <class Value>
class Registry {
 public:
  struct Entry {
    std::string help;
    Value value;
  };

  /// `kind` names what is registered, for error texts: "model".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Throws UsageError if the name is taken.
  void add(std::string name, std::string help, Value value) {
    const auto [at, fresh] =
        entries_.try_emplace(std::move(name), Entry{std::move(help), std::move(value)});
    if (!fresh) fail<UsageError>("{} '{}' is registered twice", kind_, at->first);
  }
  [[nodiscard]] bool contains(std::string_view name) const { return entries_.contains(name); }
  /// Throws UsageError that lists the known names.
  [[nodiscard]] const Entry& at(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found != entries_.end()) return found->second;
    fail<UsageError>("unknown {} '{}'; known: {}", kind_, name, join(names()));
  }
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const& {
    return entries_;
  }
  /// Not of a temporary: a loop over it would outlive the registry.
  void entries() const&& = delete;
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

 private:
  std::string kind_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace learn
