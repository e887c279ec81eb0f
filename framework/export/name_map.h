#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::exported {

/// How the names of another program's weights become ours. One rule a line, `theirs = ours`; a `*`
/// stands for any text, and for the same text on the other side, in their order. The first rule
/// that fits a name counts. Nothing on the right leaves the tensor out; a name that no rule fits
/// stays as it is. Lines that are blank or begin with `#` are no rules.
class NameMap {
 public:
  NameMap() = default;
  /// `source` is named in errors: UsageError, with the line, for a rule without `=`, without a left
  /// side, or with more `*` on the right than on the left.
  explicit NameMap(std::string_view text, const std::string& source);
  /// Our name, or nothing for a tensor that is left out.
  [[nodiscard]] std::optional<std::string> operator()(std::string_view name) const;

 private:
  struct Rule {
    std::string theirs, ours;
  };
  std::vector<Rule> rules_;
};

}  // namespace learn::exported
