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

  /// What `parse` makes the same spec of.
  [[nodiscard]] std::string text() const;

  /// Sets the options of a table, in their order. Throws UsageError that begins with the name, for
  /// a value that is refused, an option that is given twice, and one that is not there: with a
  /// suggestion and what there is.
  void set(const OptionTable& table) const;
};

}  // namespace learn
