#include "data/sets/array_file.h"

#include "data/files/file_tree.h"
#include "framework/core/error.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace learn::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view kNpy = "\x93NUMPY";
constexpr std::size_t kMaxRank = 8;

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::ranges::equal(text, bytes.first(text.size()), [](char a, std::uint8_t b) {
           return static_cast<std::uint8_t>(a) == b;
         });
}

std::vector<std::uint8_t> unpacked(Bytes packed) {
  std::vector<std::uint8_t> out;
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  int status = inflateInit2(&stream, kGzip);
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  while (status == Z_OK && out.size() <= kMaxFileBytes) {
    constexpr std::size_t kStep = 1 << 20;
    const std::size_t before = out.size();
    out.resize(before + kStep);
    stream.next_out = &out[before];
    stream.avail_out = static_cast<uInt>(kStep);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + kStep - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    fail<DataError>("damaged gzip file, or larger than {} MiB", kMaxFileBytes >> 20U);
  return out;
}

/// Reads the numbers after the header.
void take_data(ArrayFile& array, Bytes data) {
  const auto available = static_cast<std::int64_t>(data.size());
  std::int64_t bytes = array.bytes;
  for (const std::int64_t extent : array.shape) {
    // The product cannot overflow as long as the data fit.
    const bool fits = extent >= 0 && (bytes == 0 || extent <= available / bytes);
    if (!fits) fail<DataError>("damaged: it has {} bytes for {}", available, array.text());
    bytes *= extent;
  }
  if (bytes != available)
    fail<DataError>("damaged: it has {} bytes for {}", available, array.text());
  array.data.assign(data.begin(), data.end());
}

ArrayFile read_idx(Bytes file) {
  constexpr std::uint8_t kBytes = 8;
  const std::size_t rank = file[3];
  const std::size_t header = 4 + 4 * rank;
  if (file[2] != kBytes || rank == 0 || rank > kMaxRank || file.size() < header)
    fail<DataError>("neither an idx file of bytes nor a .npy file");
  ArrayFile array;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t extent = 0;
    for (std::size_t b = 0; b < 4; ++b) extent = extent * 256 + file[4 + 4 * i + b];
    array.shape.push_back(extent);
  }
  take_data(array, file.subspan(header));
  return array;
}

/// The header of a .npy file: a Python dictionary.
class NpyHeader {
 public:
  explicit NpyHeader(std::string_view text) : text_(text) {}

  /// Returns the value after a key.
  [[nodiscard]] std::string_view value(std::string_view key) const {
    const std::size_t at = text_.find(fmt::format("'{}':", key));
    if (at == std::string_view::npos) damaged();
    std::string_view rest = text_.substr(at + key.size() + 3);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    return rest;
  }

  [[noreturn]] static void damaged() { fail<DataError>("damaged: invalid .npy header"); }

 private:
  std::string_view text_;
};

/// Parses "(60000, 28, 28)".
std::vector<std::int64_t> shape_of(std::string_view text) {
  std::vector<std::int64_t> shape;
  constexpr std::int64_t kEnough = std::int64_t{1} << 40U;
  if (!text.starts_with('(')) NpyHeader::damaged();
  bool digits = false;
  for (const char c : text.substr(1)) {
    if (c == ')') return shape;
    if (c >= '0' && c <= '9') {
      if (!digits) shape.push_back(0);
      digits = true;
      shape.back() = std::min(shape.back() * 10 + (c - '0'), kEnough);
    } else if (c == ',' || c == ' ') {
      digits = false;
    } else {
      break;
    }
    if (shape.size() > kMaxRank) break;
  }
  NpyHeader::damaged();
}

ArrayFile read_npy(Bytes file) {
  constexpr std::size_t kVersion = 6;
  const std::size_t start = file.size() > kVersion && file[kVersion] == 1 ? 10 : 12;
  if (file.size() < start) NpyHeader::damaged();
  std::size_t length = 0;
  for (std::size_t i = start; i > 8; --i) length = length * 256 + file[i - 1];
  if (length > file.size() - start) NpyHeader::damaged();
  const NpyHeader header({reinterpret_cast<const char*>(&file[start]), length});
  // "'<u2'": order, kind, bytes.
  const std::string_view type = header.value("descr");
  const bool simple = type.size() > 4 && type[0] == '\'' && type[3] >= '1' && type[3] <= '9';
  if (!simple || type[2] == 'O' || type[4] != '\'')
    fail<DataError>(
        "its numbers have the unsupported type {}: save whole numbers (np.uint8, np.int64)",
        type.substr(0, type.find_first_of(",}", 1)));
  ArrayFile array{.kind = type[2], .bytes = type[3] - '0', .big_endian = type[1] == '>'};
  array.shape = shape_of(header.value("shape"));
  if (!header.value("fortran_order").starts_with("False"))
    fail<DataError>("its axes are in Fortran order: save np.ascontiguousarray(x) in Python");
  take_data(array, file.subspan(start + length));
  return array;
}

}  // namespace

std::int64_t ArrayFile::whole_number(std::size_t i) const {
  const auto size = static_cast<std::size_t>(bytes);
  std::uint64_t value = 0;
  for (std::size_t b = 0; b < size; ++b)
    value = (value << 8U) | data[i * size + (big_endian ? b : size - 1 - b)];
  if (kind != 'i' || size >= 8) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  return static_cast<std::int64_t>(value ^ sign) - static_cast<std::int64_t>(sign);
}

std::string ArrayFile::text() const {
  std::string axes;
  for (const std::int64_t extent : shape)
    axes += fmt::format("{}{}", axes.empty() ? "" : ", ", extent);
  return fmt::format("{}{}{} ({})", big_endian ? ">" : "", kind, bytes, axes);
}

bool is_array_name(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  std::ranges::transform(
      name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".npy") || name.ends_with("idx1-ubyte") || name.ends_with("idx3-ubyte");
}

ArrayFile read_array(Bytes file) {
  std::vector<std::uint8_t> content;
  if (begins_with(file, "\x1F\x8B")) {
    content = unpacked(file);
    file = content;
  }
  if (begins_with(file, kNpy)) return read_npy(file);
  if (file.size() < 4 || file[0] != 0 || file[1] != 0)
    fail<DataError>("neither an idx file nor a .npy file");
  return read_idx(file);
}

}  // namespace learn::data
