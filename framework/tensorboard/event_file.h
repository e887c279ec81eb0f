#pragma once
#include "framework/io/append_file.h"
#include "framework/tensorboard/histogram.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace learn::tensorboard {

/// An encoded image.
struct PngImage {
  int width = 0;
  int height = 0;
  std::string bytes;  ///< of a PNG file
};

/// Text in Markdown.
struct Markdown {
  std::string text;
};

/// A named value. TensorBoard groups names that share the part before a '/'. A number may be
/// infinite or NaN.
struct Value {
  std::string tag;
  std::variant<float, Histogram, PngImage, Markdown> value;
};

/// The values of a step.
struct Event {
  std::int64_t step = 0;
  double wall_time = 0;  ///< seconds since 1970
  std::vector<Value> values;
};

/// Returns the current time in seconds since 1970.
[[nodiscard]] double wall_time_now();

/// An event file that TensorBoard and its EventAccumulator read. Written events are on the disk
/// when `write` returns. If a write fails, its events are removed from the file, so the file can
/// always be read to its end.
///
/// TensorBoard reads all event files of a folder, in the order of their names, as one training.
/// Each file starts with a mark that the training (re)starts at a step. TensorBoard's Python reader
/// then drops events of that step and later ones from earlier files. Its data server, which
/// `tensorboard` uses where it can, drops, for each tag, the events at or after a step that is
/// repeated.
class EventFile {
 public:
  /// Creates a new file in a folder, which is created if missing; `first_step` is the first step to
  /// be written. Throws IoError.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);

  /// Throws IoError if the events cannot be written.
  void write(std::span<const Event> events);
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }

 private:
  AppendFile file_;
};

}  // namespace learn::tensorboard
