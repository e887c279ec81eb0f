#pragma once
#include "framework/tensorboard/event.pb.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace learn::test {

/// The events of a file. Throws std::runtime_error for a wrong length or checksum.
[[nodiscard]] std::vector<tensorboard::proto::Event> read_events(const std::filesystem::path& file);

/// The event files of a folder, in the order in which TensorBoard takes them.
[[nodiscard]] std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder);

using Tags = std::map<std::string, std::map<std::int64_t, tensorboard::proto::Summary::Value>>;
/// Returns what TensorBoard shows for a folder, by tag and step, with START events as in its Python
/// reader. Throws std::runtime_error for a step that a tag has twice.
[[nodiscard]] Tags shown(const std::filesystem::path& folder);
/// Does this as the data server does: by the order of steps of each tag.
[[nodiscard]] Tags served(const std::filesystem::path& folder);

/// "1 2 3": the steps of a tag; empty if there is no such tag.
[[nodiscard]] std::string steps(const Tags& tags, const std::string& tag);

}  // namespace learn::test
