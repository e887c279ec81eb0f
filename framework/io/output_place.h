#pragma once
#include <filesystem>

namespace learn {

/// Destination of bytes that are written to a user's path. Links are followed, so the link stays
/// and the file it names is written.
struct OutputPlace {
  /// The file, which may not exist, or the device or FIFO.
  std::filesystem::path path;
  /// Open for writing if it is a character device, a FIFO, or one of this process's descriptors
  /// (/dev/stdout, /dev/fd/N): written to directly, never replaced. -1 for a file. Closed by the
  /// caller.
  int stream = -1;
};

/// Finds out what `target` is, and opens what is not a file. A FIFO is waited for until a reader
/// has it open. Throws IoError for a folder, a block device, a socket, a name that ends in '/', a
/// circle of links, and for what cannot be opened.
[[nodiscard]] OutputPlace open_output(const std::filesystem::path& target);

/// Throws IoError, as `open_output`, unless `target` can be written to, as far as its kind and its
/// folder show, so that a long computation does not end with an error. Opens nothing. Returns the
/// path with its links followed.
std::filesystem::path check_output(const std::filesystem::path& target);

}  // namespace learn
