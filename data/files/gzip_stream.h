#pragma once
#include "framework/core/regular_file.h"

#include <archive.h>
#include <zlib.h>

#include <array>
#include <cstdint>

namespace learn::data {

/// A gzip stream for libarchive, whose own filter does not verify the checksum at its end.
class GzipStream {
 public:
  explicit GzipStream(const RegularFile& file);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Returns whether the file starts like a gzip file.
  [[nodiscard]] static bool holds(const RegularFile& file);

  /// For archive_read_open, with a GzipStream as `self`. All data of a truncated stream is returned
  /// before the error.
  static la_ssize_t read(archive* reader, void* self, const void** block);

 private:
  la_ssize_t next(archive* reader, const void** block);

  gzFile stream_;
  std::array<std::uint8_t, 64 << 10> block_{};
};

}  // namespace learn::data
