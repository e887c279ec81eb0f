#pragma once
#include <filesystem>

namespace learn::tensorboard {

/// Creates the folder, durably, and returns the name for a new event file in it:
/// "events.out.tfevents.SECONDS.HOST.PID.N". Readers sort files by name, so SECONDS is the current
/// time or, if the clock has been set back, later than all existing files; N is the number of
/// existing files. Throws IoError.
[[nodiscard]] std::filesystem::path new_event_file(const std::filesystem::path& folder);

/// Moves event files in the folder to a new subfolder, "former-1", "former-2", ..., which
/// TensorBoard shows as a separate run. Does nothing without event files. Throws IoError.
void set_former_events_aside(const std::filesystem::path& folder);

}  // namespace learn::tensorboard
