#pragma once
#include <filesystem>

namespace learn::tensorboard {

/// Makes the folder, durably, and says what a new event file in it is to be called:
/// "events.out.tfevents.SECONDS.HOST.PID.N". Readers take files in the order of their names, so the
/// seconds are those of the clock or, if it has gone back, after all files that are there; N is how
/// many these are. Throws IoError.
[[nodiscard]] std::filesystem::path new_event_file(const std::filesystem::path& folder);

/// Moves event files that lie in the folder into a folder in it, "former-1", "former-2", ...: to
/// TensorBoard they are a run of their own then. Does nothing where there are none. Throws IoError.
void set_former_events_aside(const std::filesystem::path& folder);

}  // namespace learn::tensorboard
