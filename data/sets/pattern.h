#pragma once
#include <memory>
#include <optional>
#include <string>

namespace learn::data {

/// A regular expression in the syntax of Perl and Python, searched anywhere in a text:
/// "(.+)_\d+.jpg$".
class Pattern {
 public:
  /// Throws UsageError with the position of the error.
  explicit Pattern(const std::string& text);

  /// Returns the match of the first group, or the whole match without groups; nothing if it does
  /// not match. Thread-safe. Throws DataError for a pattern that tries too many ways to match the
  /// text.
  [[nodiscard]] std::optional<std::string> find(const std::string& in) const;

  /// Returns the match in a path that must have a label. Throws DataError that starts with `where`.
  [[nodiscard]] std::string label_of(const std::string& path, const std::string& where) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const void> code_;
};

}  // namespace learn::data
