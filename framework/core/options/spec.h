#pragma once
#include "framework/core/options/option_table.h"

#include <string>
#include <string_view>

namespace learn {

/// A registered thing and options of it, as users write them: "gradient_clip:limit=1,by=value". A
/// value in parentheses may hold commas: "param_scheduler:schedule=(cosine:start=1,end=0.1)".
struct Spec {
  std::string name;
  OptionValues options;

  /// Throws UsageError for options that are not of the form key=value, and for parentheses that do
  /// not match.
  [[nodiscard]] static Spec parse(std::string_view text);

  /// The text that `parse` turns into this spec.
  [[nodiscard]] std::string text() const;

  /// Sets the options of a table, in order. Throws UsageError that starts with the name, for a
  /// refused value, an option that is given twice, and an unknown option, with a suggestion and a
  /// list.
  void set(const OptionTable& table) const;
};

}  // namespace learn
