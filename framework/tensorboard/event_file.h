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

/// Something with a name; what names have in common before a '/' TensorBoard shows together. A
/// number may be infinite or NaN.
struct Value {
  std::string tag;
  std::variant<float, Histogram, PngImage, Markdown> value;
};

/// What is to be seen at a step.
struct Event {
  std::int64_t step = 0;
  double wall_time = 0;  ///< seconds since 1970
  std::vector<Value> values;
};

/// Seconds since 1970, now.
[[nodiscard]] double wall_time_now();

/// A file that TensorBoard shows, and its EventAccumulator reads. What was written is on the disk
/// when `write` returns; of what could not be written nothing stays in the file, so that it can be
/// read to its end whatever has happened.
///
/// TensorBoard takes all event files of a folder, in the order of their names, as one training.
/// Each file begins with a mark that the training (re)starts at a step: its Python reader drops
/// what earlier files say of that step and of later ones. Its data server, which `tensorboard`
/// uses where it can, drops under each tag what is not before a step that comes again.
class EventFile {
 public:
  /// Makes a new file in a folder, which is made if it is not there; `first_step` is the first that
  /// is to be written. Throws IoError.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);

  /// Throws IoError if they cannot be written.
  void write(std::span<const Event> events);
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }

 private:
  AppendFile file_;
};

}  // namespace learn::tensorboard
