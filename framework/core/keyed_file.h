#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// A file of a cache: its first line is the key of what follows, as a file's name is too short for
/// it. Nothing if there is no such file, or if it is one for another key. Throws IoError for what
/// cannot be read, or is larger than `limit` bytes.
[[nodiscard]] std::optional<std::string> read_keyed_file(const std::filesystem::path& file,
                                                         const std::string& key,
                                                         std::uint64_t limit);

}  // namespace learn
