#include "framework/io/safetensors.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/safetensors_header.h"
#include "framework/io/sha256.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

namespace learn {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own reader

/// The header's length as the file begins with it: little endian, whatever the machine.
std::array<std::byte, 8> encode(std::uint64_t value) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}
std::uint64_t decode(const std::array<std::byte, 8>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// A zip archive (torch.save since 1.6) or a bare pickle of protocol 2 and above. Asked only of
/// files whose first eight bytes make no sense as a length.
bool looks_like_pickle(const std::array<std::byte, 8>& start) {
  return std::memcmp(start.data(), "PK\x03\x04", 4) == 0 || start[0] == std::byte{0x80};
}

std::span<const std::byte> bytes_of(const NamedTensor& named) {
  if (!named.tensor.device().is_cpu())
    fail<DeviceError>(
        "safetensors: '{}' is on {}; copy it to the host first", named.name, named.tensor.device());
  return {named.tensor.raw(), named.tensor.bytes()};
}

void read_at(int fd,
             std::uint64_t at,
             std::span<std::byte> into,
             const std::filesystem::path& path) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail<IoError>("cannot read '{}': {}", path.string(), std::strerror(errno));
    }
    if (got == 0)
      fail<CheckpointError>("'{}' ended at byte {} while it was read", path.string(), at);
    at += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       Metadata metadata,
                       const std::filesystem::path& previous,
                       FileSystem& files) {
  std::vector<TensorEntry> entries;
  std::set<std::string_view> names{"__metadata__"};
  Sha256 hash;
  std::uint64_t at = 0;
  for (const NamedTensor& named : tensors) {
    if (!names.insert(named.name).second)
      fail<UsageError>("safetensors: two tensors are called '{}'", named.name);
    const std::span<const std::byte> bytes = bytes_of(named);
    entries.push_back(
        {named.name, named.tensor.dtype(), named.tensor.shape(), at, at + bytes.size()});
    at += bytes.size();
    hash.update(bytes);
  }
  metadata[std::string(kPayloadHash)] = hash.hex();
  std::string header = detail::write_safetensors_header(entries, metadata);
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data begin on a multiple of 8 bytes

  AtomicFile file(path, 8 + header.size() + at, files);
  file.write(encode(header.size()));
  file.write(header);
  for (const NamedTensor& named : tensors) file.write(bytes_of(named));
  file.commit(previous);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail<IoError>("cannot open '{}': {}", path.string(), std::strerror(errno));
  try {
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode))
      fail<CheckpointError>("'{}' is not a regular file", path.string());
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size < 8)
      fail<CheckpointError>("'{}' is not a safetensors file: {} bytes", path.string(), size);
    std::array<std::byte, 8> start{};
    read_at(fd_, 0, start, path);
    const std::uint64_t header_size = decode(start);
    if (header_size > std::min(kMaxHeader, size - 8)) {
      if (looks_like_pickle(start))
        fail<CheckpointError>(
            "'{}' is a PyTorch pickle, which is never read (it can run code); convert it with "
            "safetensors.torch.save_file",
            path.string());
      fail<CheckpointError>("'{}': the header claims {} bytes, {} follow (at most {} are allowed)",
                            path.string(),
                            header_size,
                            size - 8,
                            kMaxHeader);
    }
    std::string json(header_size, '\0');
    read_at(fd_, 8, std::as_writable_bytes(std::span(json)), path);
    data_begin_ = 8 + header_size;
    data_size_ = size - data_begin_;
    detail::SafetensorsHeader header =
        detail::parse_safetensors_header(json, data_size_, path.string());
    metadata_ = std::move(header.metadata);
    tensors_ = std::move(header.tensors);
    check_hash();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { ::close(fd_); }

void SafetensorsFile::check_hash() const {
  const auto expected = metadata_.find(std::string(kPayloadHash));
  if (expected == metadata_.end()) return;
  Sha256 hash;
  std::vector<std::byte> block(std::size_t{1} << 20U);
  for (std::uint64_t at = 0; at < data_size_; at += block.size()) {
    const std::span<std::byte> part =
        std::span(block).first(std::min<std::uint64_t>(block.size(), data_size_ - at));
    read_at(fd_, data_begin_ + at, part, path_);
    hash.update(part);
  }
  if (hash.hex() != expected->second)
    fail<CheckpointError>("'{}' is damaged: its data do not have the SHA-256 its header names",
                          path_.string());
}

void SafetensorsFile::read(const TensorEntry& entry, std::span<std::byte> into) const {
  check<CheckpointError>(into.size() == entry.end - entry.begin,
                         "tensor '{}' has {} bytes in the file, {} are wanted",
                         entry.name,
                         entry.end - entry.begin,
                         into.size());
  read_at(fd_, data_begin_ + entry.begin, into, path_);
}

}  // namespace learn
