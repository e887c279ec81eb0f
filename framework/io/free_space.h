#pragma once
#include "framework/core/function_ref.h"
#include "framework/interfaces/state_visitor.h"
#include "framework/io/file_system.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// "44.7 MiB"; below a tenth of one "930 bytes".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// About how large `save_state` makes a file of this state: its tensors.
[[nodiscard]] std::uint64_t state_size(FunctionRef<void(StateVisitor&)> visit);

/// Warns, with numbers, if a run that saves checkpoints of `checkpoint` bytes in `folder` will
/// probably fill the disk: a save needs room for the new checkpoint next to the last two.
void warn_if_space_is_short(const std::filesystem::path& folder,
                            std::uint64_t checkpoint,
                            FileSystem& files = disk());

}  // namespace learn
