#pragma once
#include "data/dataset.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Helpers of the tests of data/: folders, images, small data sets.
namespace learn::test {

/// An empty folder that is removed with everything in it at the end. Its name holds a space and
/// letters outside ASCII.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_bytes(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);
[[nodiscard]] std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path);

/// A image of one colour (H,W,C), C = 3.
[[nodiscard]] std::vector<std::uint8_t> plain(std::int64_t height,
                                              std::int64_t width,
                                              std::uint8_t red,
                                              std::uint8_t green,
                                              std::uint8_t blue);
struct JpegKind {
  bool progressive = false;
  bool scan_by_component = false;     ///< not one for all
  unsigned int restart_interval = 0;  ///< blocks between restart marks; 0: none
};
/// Quality 100, no chroma subsampling: decoded values are off by a few units at most.
[[nodiscard]] std::vector<std::uint8_t> jpeg(const std::vector<std::uint8_t>& rgb,
                                             std::int64_t height,
                                             std::int64_t width,
                                             const JpegKind& kind = {});
/// `channels`: 1 grey, 3 RGB, 4 RGBA.
[[nodiscard]] std::vector<std::uint8_t> png(const std::vector<std::uint8_t>& pixels,
                                            std::int64_t height,
                                            std::int64_t width,
                                            int channels = 3);

/// Returns the file with one more chunk, after its header or before the last one.
[[nodiscard]] std::vector<std::uint8_t> with_png_chunk(const std::vector<std::uint8_t>& png,
                                                       const std::string& type,
                                                       const std::vector<std::uint8_t>& content,
                                                       bool late = false);

/// `n` images of height x width, `classes` classes in turn, pixels from a fixed hash of position.
[[nodiscard]] data::Dataset small_set(std::int64_t n,
                                      std::int64_t height,
                                      std::int64_t width,
                                      int classes = 2);

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The text of the `E` that `run` throws; empty if it throws none.
template <class E, class F>
[[nodiscard]] std::string text_of(F&& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

}  // namespace learn::test
