#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// A file of a cache: its first line is the key of its content, because a file name is too short
/// for it. Empty if the file does not exist or has another key. Throws IoError if it cannot be read
/// or is larger than `limit` bytes.
[[nodiscard]] std::optional<std::string> read_keyed_file(const std::filesystem::path& file,
                                                         const std::string& key,
                                                         std::uint64_t limit);

}  // namespace learn
