#pragma once
#include <cstdint>
#include <string>
#include <variant>

namespace learn {

/// Limit on the images used from a data set: a count, or a share of all of them.
class ImageLimit {
 public:
  /// Uses all images.
  ImageLimit() = default;
  explicit ImageLimit(std::int64_t count);
  /// Parses "1500", or a share in (0, 1] with a decimal point: "0.1". Throws UsageError.
  explicit ImageLimit(const std::string& text);

  /// Returns the text as it was written.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Returns null for a share.
  [[nodiscard]] const std::int64_t* count() const noexcept {
    return std::get_if<std::int64_t>(&value_);
  }
  /// Returns null for a count.
  [[nodiscard]] const double* share() const noexcept { return std::get_if<double>(&value_); }

 private:
  std::variant<std::int64_t, double> value_ = 1.0;
  std::string text_ = "1.0";
};

}  // namespace learn
