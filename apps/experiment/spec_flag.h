#pragma once
#include "framework/core/options/registry.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace learn {

/// Returns the text that a spec sets an option to, or null.
[[nodiscard]] inline const std::string* find_option(const Spec& spec, std::string_view option) {
  const auto found = std::ranges::find(spec.options, option, &OptionValues::value_type::first);
  return found == spec.options.end() ? nullptr : &found->second;
}

[[nodiscard]] inline bool has_option(const Spec& spec, std::string_view option) {
  return find_option(spec, option) != nullptr;
}

/// Returns whether `add_flag` would accept the option: the object that `spec` names has it, and the
/// spec does not set it.
template <class Signature>
[[nodiscard]] bool takes_flag(const Spec& spec,
                              const Registry<Signature>& registry,
                              std::string_view option) {
  return registry.configure(spec.name).options.find(option) != nullptr && !has_option(spec, option);
}

/// Adds `--flag value` to the spec as an option of the object it names. Throws UsageError if that
/// object does not have the option, or if the spec sets it already.
template <class Signature>
void add_flag(Spec& spec,
              const Registry<Signature>& registry,
              std::string_view flag,
              const std::string& option,
              const std::string& value) {
  if (registry.configure(spec.name).options.find(option) == nullptr)
    fail<UsageError>("--{} {} has no effect: {} '{}' has no option '{}'",
                     flag,
                     value,
                     registry.kind(),
                     spec.name,
                     option);
  if (has_option(spec, option))
    fail<UsageError>(
        "--{} {}: {} '{}' already sets '{}'", flag, value, registry.kind(), spec.name, option);
  spec.options.emplace_back(option, value);
}

}  // namespace learn
