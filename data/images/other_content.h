#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace learn::data {

/// What a file holds instead of an image that is read.
struct OtherContent {
  std::string_view name;         ///< "HEIC", "an HTML page"
  std::string_view advice;       ///< what to do about it
  bool unpacks_to_more = false;  ///< an archive, or a compressed file
};

/// So many first bytes of a file show what it holds.
inline constexpr std::size_t kContentBytes = 512;

/// Returns what a file with these first bytes holds, by well-known signatures, or an empty name. It
/// is no statement about formats that are read (`image_format`).
[[nodiscard]] OtherContent other_content(std::span<const std::uint8_t> start);

}  // namespace learn::data
