#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace learn::data {

/// The content of a file that is not a supported image.
struct OtherContent {
  std::string_view name;         ///< "HEIC", "an HTML page"
  std::string_view advice;       ///< the remedy
  bool unpacks_to_more = false;  ///< an archive, or a compressed file
};

/// Number of first bytes needed to recognize the content.
inline constexpr std::size_t kContentBytes = 512;

/// Returns the content that well-known signatures in these first bytes indicate, or an empty name.
/// Does not recognize supported formats (`image_format`).
[[nodiscard]] OtherContent other_content(std::span<const std::uint8_t> start);

}  // namespace learn::data
