#include "data/files/gzip_stream.h"

#include "framework/core/error.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace learn::data {

GzipStream::GzipStream(const RegularFile& file) : stream_(gzdopen(::dup(file.descriptor()), "rb")) {
  if (stream_ == nullptr) fail<DataError>("'{}' cannot be read", file.path().string());
}

GzipStream::~GzipStream() { gzclose(stream_); }

bool GzipStream::holds(const RegularFile& file) {
  constexpr std::array<std::byte, 2> kMagic{std::byte{0x1F}, std::byte{0x8B}};
  std::array<std::byte, 2> start{};
  if (file.size() >= start.size()) file.read(0, start);
  return start == kMagic;
}

la_ssize_t GzipStream::read(archive* reader, void* self, const void** block) {
  return static_cast<GzipStream*>(self)->next(reader, block);
}

la_ssize_t GzipStream::next(archive* reader, const void** block) {
  const int n = gzread(stream_, block_.data(), static_cast<unsigned>(block_.size()));
  int error = Z_OK;
  const char* why = gzerror(stream_, &error);
  // A truncated stream is reported with its last bytes, and again after them.
  if (n <= 0 && error != Z_OK) {
    // zlib's text starts with its own name for the file: "<fd:3>: incorrect data check".
    const char* colon = std::strchr(why, ' ');
    archive_set_error(reader, EINVAL, "gzip:%s", colon == nullptr ? " damaged" : colon);
    return ARCHIVE_FATAL;
  }
  *block = block_.data();
  return n;
}

}  // namespace learn::data
