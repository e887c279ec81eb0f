#include "framework/io/safetensors.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/digest.h"
#include "framework/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

namespace learn {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own reader

/// Length of the header, at the start of the file: little endian on every machine.
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

/// Placeholder of the file's hash in the header, 64 digits.
const std::string& blank_hash() {
  static const std::string zeros(64, '0');
  return zeros;
}

/// Position of the digits of the hash in a header, or npos. Inside a text the quotes would be
/// escaped, so this can only be the key and its value.
std::size_t hash_place(std::string_view header) {
  const std::string start = fmt::format("\"{}\":\"", kHash);
  const std::size_t found = header.find(start);
  return found == std::string_view::npos || header.size() - found < start.size() + 64
             ? std::string_view::npos
             : found + start.size();
}

std::span<const std::byte> bytes_of(const NamedTensor& named) {
  if (!named.tensor.device().is_cpu())
    fail<DeviceError>(
        "safetensors: '{}' is on {}; copy it to the host first", named.name, named.tensor.device());
  return {named.tensor.raw(), named.tensor.bytes()};
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       Metadata metadata,
                       const std::filesystem::path& previous,
                       FileSystem& files) {
  std::vector<TensorEntry> entries;
  std::set<std::string_view> names{"__metadata__"};
  std::uint64_t at = 0;
  for (const NamedTensor& named : tensors) {
    if (!names.insert(named.name).second)
      fail<UsageError>("safetensors: two tensors are named '{}'", named.name);
    const std::span<const std::byte> bytes = bytes_of(named);
    entries.push_back(
        {named.name, named.tensor.dtype(), named.tensor.shape(), at, at + bytes.size()});
    at += bytes.size();
  }
  metadata.erase(std::string(kPayloadHash));  // of the older file that they were read from
  metadata[std::string(kFormat)] = kFormatVersion;
  metadata[std::string(kHash)] = blank_hash();
  std::string header = detail::write_safetensors_header(entries, metadata);
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data start at a multiple of 8 bytes

  Digest hash(Digest::Kind::sha256);
  hash.update(encode(header.size()));
  hash.update(std::as_bytes(std::span(header)));
  for (const NamedTensor& named : tensors) hash.update(bytes_of(named));
  header.replace(hash_place(header), blank_hash().size(), hash.hex());

  AtomicFile file(path, 8 + header.size() + at, files);
  file.write(encode(header.size()));
  file.write(header);
  for (const NamedTensor& named : tensors) file.write(bytes_of(named));
  file.commit(previous);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  const std::uint64_t size = file_.size();
  if (size < 8)
    fail<CheckpointError>("'{}' is not a safetensors file: {} bytes", path.string(), size);
  std::array<std::byte, 8> start{};
  file_.read(0, start);
  const std::uint64_t header_size = decode(start);
  if (header_size > kMaxHeader) {
    if (looks_like_pickle(start))
      fail<CheckpointError>(
          "'{}' is a PyTorch pickle, which is never read (it can run code); convert it with "
          "safetensors.torch.save_file",
          path.string());
    fail<CheckpointError>(
        "'{}' is not a safetensors file: its header claims {} bytes, at most {} are allowed",
        path.string(),
        header_size,
        kMaxHeader);
  }
  if (header_size > size - 8)
    fail<CheckpointError>("'{}' is truncated: the header claims {} bytes, {} follow",
                          path.string(),
                          header_size,
                          size - 8);
  std::string json(header_size, '\0');
  file_.read(8, std::as_writable_bytes(std::span(json)));
  data_begin_ = 8 + header_size;
  data_size_ = size - data_begin_;
  detail::SafetensorsHeader header =
      detail::parse_safetensors_header(json, data_size_, path.string());
  metadata_ = std::move(header.metadata);
  tensors_ = std::move(header.tensors);
  check_hash(std::move(json));
}

void SafetensorsFile::fail_damaged(std::string_view what, SourceLocation at) const {
  fail_from<CheckpointError>(
      at,
      "'{}' is damaged: {} (a program that changes such a file must leave '{}' and "
      "'{}' out of its metadata)",
      path().string(),
      what,
      kHash,
      kFormat);
}

void SafetensorsFile::check_hash(std::string header) const {
  const auto value = [&](std::string_view key) {
    const auto found = metadata_.find(std::string(key));
    return found == metadata_.end() ? std::optional<std::string>() : found->second;
  };
  const std::optional<std::string> format = value(kFormat);
  const std::optional<std::string> whole = value(kHash);
  const std::optional<std::string> payload = value(kPayloadHash);
  if (format && *format != kFormatVersion)
    fail_damaged(fmt::format("its format is '{}', this program reads '{}'; or a newer one wrote it",
                             *format,
                             kFormatVersion));
  if (format && !whole) fail_damaged("the SHA-256 of its content is missing");
  if (!whole && !payload) return;

  Digest hash(Digest::Kind::sha256);
  if (whole) {
    const std::size_t place = hash_place(header);
    if (place == std::string::npos) fail_damaged("its header was changed");
    header.replace(place, blank_hash().size(), blank_hash());
    hash.update(encode(header.size()));
    hash.update(std::as_bytes(std::span(header)));
  }
  std::vector<std::byte> block(std::size_t{1} << 20U);
  for (std::uint64_t at = 0; at < data_size_; at += block.size()) {
    const std::span<std::byte> part =
        std::span(block).first(std::min<std::uint64_t>(block.size(), data_size_ - at));
    file_.read(data_begin_ + at, part);
    hash.update(part);
  }
  if (hash.hex() != (whole ? *whole : *payload))
    fail_damaged("its content does not match the SHA-256 in its header");
}

void SafetensorsFile::read(const TensorEntry& entry, std::span<std::byte> into) const {
  check<CheckpointError>(into.size() == entry.end - entry.begin,
                         "tensor '{}' has {} bytes in the file, expected {}",
                         entry.name,
                         entry.end - entry.begin,
                         into.size());
  file_.read(data_begin_ + entry.begin, into);
}

}  // namespace learn
