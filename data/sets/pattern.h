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

  /// What its first group matches, or all of it if it has no group; nothing where it does not
  /// match. Threads may look at the same time. Throws DataError for a pattern that tries too many
  /// ways to match the text.
  [[nodiscard]] std::optional<std::string> find(const std::string& in) const;

  /// The same of a path that must have a label by it. Throws DataError that begins with `where`.
  [[nodiscard]] std::string label_of(const std::string& path, const std::string& where) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const void> code_;
};

}  // namespace learn::data
