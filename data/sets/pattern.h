#pragma once
#include <memory>
#include <optional>
#include <string>

namespace learn::data {

/// A regular expression as Perl and Python write it, to be found anywhere in a text:
/// "(.+)_\d+.jpg$".
class Pattern {
 public:
  /// Throws UsageError, which says where it is wrong.
  explicit Pattern(const std::string& text);

  /// The match of its first group, or the whole match without a group; nothing if it does not
  /// match. Threads may call it at the same time. Throws DataError for a pattern that tries too
  /// many ways to match the text.
  [[nodiscard]] std::optional<std::string> find(const std::string& in) const;

  /// The same for a path that must match. Throws DataError that starts with `where`.
  [[nodiscard]] std::string label_of(const std::string& path, const std::string& where) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const void> code_;
};

}  // namespace learn::data
