#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace learn::data {

/// The content of a file that is not a supported image.
struct OtherContent {
  std::string_view name;         ///< "HEIC", "an HTML page"
  std::string_view advice;       ///< what to do about it
  bool unpacks_to_more = false;  ///< an archive, or a compressed file
};

/// Number of leading bytes that identify a file's content.
inline constexpr std::size_t kContentBytes = 512;

/// Returns the content of a file with these first bytes, by well-known signatures, or an empty
/// name. Supported formats are identified by `image_format` instead.
[[nodiscard]] OtherContent other_content(std::span<const std::uint8_t> start);

}  // namespace learn::data
