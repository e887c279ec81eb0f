#pragma once
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace learn::test {

struct ZipMember {
  std::string name;  ///< of a folder if it ends with "/"
  std::vector<std::uint8_t> bytes;
  bool utf8 = true;  ///< say that the name is UTF-8, as most programs do
};

/// A zip archive, not compressed.
[[nodiscard]] inline std::vector<std::uint8_t> zip_file(const std::vector<ZipMember>& members) {
  std::vector<std::uint8_t> file;
  std::vector<std::uint8_t> directory;
  const auto put = [](std::vector<std::uint8_t>& to, std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  for (const ZipMember& member : members) {
    const std::uint64_t at = file.size();
    const auto described = [&](std::vector<std::uint8_t>& to) {
      put(to, 20, 2);                           // version
      put(to, member.utf8 ? 1U << 11U : 0, 2);  // flags
      put(to, 0, 2);                            // stored
      put(to, 0, 4);                            // time
      put(to, crc32(0, member.bytes.data(), static_cast<uInt>(member.bytes.size())), 4);
      put(to, member.bytes.size(), 4);
      put(to, member.bytes.size(), 4);
      put(to, member.name.size(), 2);
      put(to, 0, 2);  // more
    };
    put(file, 0x04034B50, 4);
    described(file);
    file.insert(file.end(), member.name.begin(), member.name.end());
    file.insert(file.end(), member.bytes.begin(), member.bytes.end());
    put(directory, 0x02014B50, 4);
    put(directory, 20, 2);
    described(directory);
    put(directory, 0, 2 + 2 + 2);  // comment, disk, kind of text
    put(directory, 0, 4);          // attributes
    put(directory, at, 4);
    directory.insert(directory.end(), member.name.begin(), member.name.end());
  }
  const std::uint64_t at = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  put(file, 0x06054B50, 4);
  put(file, 0, 4);
  put(file, members.size(), 2);
  put(file, members.size(), 2);
  put(file, directory.size(), 4);
  put(file, at, 4);
  put(file, 0, 2);
  return file;
}

}  // namespace learn::test
