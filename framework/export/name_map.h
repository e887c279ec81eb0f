#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::exported {

/// Maps the names of another program's weights to names of parameters here. Each line is a rule,
/// `theirs = ours`. A `*` matches any text, and is replaced by the same text on the other side, in
/// order. The first rule that matches a name applies. An empty right side drops the tensor; a name
/// that no rule matches is kept. Lines that are blank or start with `#` are ignored.
class NameMap {
 public:
  NameMap() = default;
  /// `source` is named in errors. Throws UsageError, with the line, for a rule without `=`, without
  /// a left side, or with more `*` on the right than on the left.
  explicit NameMap(std::string_view text, const std::string& source);
  /// Returns the mapped name, or nothing for a tensor that is dropped.
  [[nodiscard]] std::optional<std::string> operator()(std::string_view name) const;

 private:
  struct Rule {
    std::string theirs, ours;
  };
  std::vector<Rule> rules_;
};

}  // namespace learn::exported
