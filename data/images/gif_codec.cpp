#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <algorithm>
#include <array>
#include <optional>

namespace learn::data {
namespace {

/// A file read sequentially.
class Cursor {
 public:
  explicit Cursor(Bytes file) : file_(file) {}

  Bytes take(std::size_t bytes) {
    if (bytes > file_.size()) fail<DataError>("damaged GIF: it ends too early");
    const Bytes taken = file_.first(bytes);
    file_ = file_.subspan(bytes);
    return taken;
  }
  std::uint8_t byte() { return take(1)[0]; }

  /// Joins blocks of at most 255 bytes up to an empty one. The end may be missing after pixel data.
  std::vector<std::uint8_t> blocks() {
    std::vector<std::uint8_t> all;
    while (!file_.empty()) {
      const std::size_t bytes = byte();
      if (bytes == 0) break;
      const Bytes block = take(std::min(bytes, file_.size()));
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

 private:
  Bytes file_;
};

/// GIF's variant of LZW: codes of 3 to 12 bits, the lowest bit first.
class LzwReader {
 public:
  LzwReader(Bytes packed, int symbol_bits) : packed_(packed), symbol_bits_(symbol_bits) { clear(); }

  /// Decodes up to this many symbols; fewer if the data end.
  std::vector<std::uint8_t> read(std::size_t count) {
    std::vector<std::uint8_t> out;
    std::size_t before = kMaxSize;  // no code yet
    while (out.size() < count) {
      const std::optional<std::size_t> code = next_code();
      if (!code || code == end_code()) break;
      if (code == clear_code()) {
        clear();
        before = kMaxSize;
        continue;
      }
      const bool known = *code < size_ && *code != end_code();
      if (!known && (before == kMaxSize || *code != size_))
        fail<DataError>("damaged GIF: invalid data");
      if (before < kMaxSize) add(before, table_[known ? *code : before].first);
      append(*code, out);
      before = *code;
    }
    out.resize(std::min(out.size(), count));
    return out;
  }

 private:
  static constexpr std::size_t kMaxSize = 4096;
  struct Entry {
    std::uint16_t before = 0;
    std::uint16_t length = 1;
    std::uint8_t first = 0;
    std::uint8_t last = 0;
  };

  [[nodiscard]] std::size_t clear_code() const { return std::size_t{1} << symbol_bits_; }
  [[nodiscard]] std::size_t end_code() const { return clear_code() + 1; }

  void clear() {
    for (std::size_t i = 0; i < clear_code(); ++i)
      table_[i] = {0, 1, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i)};
    size_ = clear_code() + 2;
    code_bits_ = symbol_bits_ + 1;
  }

  std::optional<std::size_t> next_code() {
    for (; bits_ < code_bits_; bits_ += 8) {
      if (at_ == packed_.size()) return std::nullopt;
      buffer_ |= std::uint32_t{packed_[at_++]} << static_cast<unsigned>(bits_);
    }
    const std::size_t code = buffer_ & ((1U << static_cast<unsigned>(code_bits_)) - 1);
    buffer_ >>= static_cast<unsigned>(code_bits_);
    bits_ -= code_bits_;
    return code;
  }

  void add(std::size_t before, std::uint8_t last) {
    if (size_ == kMaxSize) return;
    table_[size_++] = {static_cast<std::uint16_t>(before),
                       static_cast<std::uint16_t>(table_[before].length + 1),
                       table_[before].first,
                       last};
    if (size_ == std::size_t{1} << static_cast<unsigned>(code_bits_) && size_ < kMaxSize)
      ++code_bits_;
  }

  void append(std::size_t code, std::vector<std::uint8_t>& out) const {
    out.resize(out.size() + table_[code].length);
    for (std::size_t i = out.size(), left = table_[code].length; left > 0; --left) {
      out[--i] = table_[code].last;
      code = table_[code].before;
    }
  }

  Bytes packed_;
  std::size_t at_ = 0;
  std::uint32_t buffer_ = 0;
  int bits_ = 0;  ///< of the buffer
  int symbol_bits_;
  int code_bits_ = 0;
  std::size_t size_ = 0;  ///< of the table
  std::array<Entry, kMaxSize> table_;
};

struct Frame {
  std::int64_t left, top, width, height;
  bool interlaced;
};

/// Returns the row of an interlaced image that is stored as number `row`.
std::int64_t interlaced_row(std::int64_t row, std::int64_t height) {
  constexpr std::array<std::array<std::int64_t, 2>, 4> kPasses{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto [start, step] : kPasses) {
    const std::int64_t rows = (height - start + step - 1) / step;
    if (row < rows) return start + row * step;
    row -= rows;
  }
  return 0;
}

class GifReader {
 public:
  GifReader(Bytes file, std::int64_t max_pixels) : in_(file), max_pixels_(max_pixels) {
    for (std::size_t i = 0; i < palette_.size(); ++i)
      palette_[i] = static_cast<std::uint8_t>(i / 3);
  }

  Image first_image() {
    constexpr std::size_t kSignature = 6;
    constexpr std::size_t kHeader = 7;  // width, height, palette, background, pixel aspect
    in_.take(kSignature);
    const Bytes header = in_.take(kHeader);
    width_ = number(header, 0);
    height_ = number(header, 2);
    read_palette(header[4]);
    for (;;) {
      const std::uint8_t kind = in_.byte();
      if (kind == ',') return image();
      if (kind != '!') fail<DataError>("damaged GIF: it has no image");
      constexpr std::uint8_t kControl = 0xF9;
      const bool control = in_.byte() == kControl;
      const std::vector<std::uint8_t> content = in_.blocks();
      if (control && content.size() >= 4 && (content[0] & 1U) != 0) transparent_ = content[3];
    }
  }

 private:
  static std::int64_t number(Bytes bytes, std::size_t at) { return little_endian(bytes, at, 2); }

  void read_palette(std::uint8_t flags) {
    if ((flags & 0x80U) == 0) return;
    const Bytes colours = in_.take(std::size_t{6} << (flags & 7U));
    std::ranges::copy(colours, palette_.begin());
    colours_ = colours.size() / 3;
  }

  Image image() {
    constexpr std::size_t kHeader = 9;  // position, size, palette
    const Bytes header = in_.take(kHeader);
    const Frame frame{number(header, 0),
                      number(header, 2),
                      number(header, 4),
                      number(header, 6),
                      (header[8] & 0x40U) != 0};
    read_palette(header[8]);
    // An image may exceed the size in the file's header.
    Image out = sized_image(std::max(width_, frame.left + frame.width),
                            std::max(height_, frame.top + frame.height),
                            max_pixels_);
    const int symbol_bits = in_.byte();
    if (symbol_bits < 1 || symbol_bits > 8)
      fail<DataError>("damaged GIF: its symbols have {} bits, expected 1 to 8", symbol_bits);
    const std::vector<std::uint8_t> packed = in_.blocks();
    const auto pixels = static_cast<std::size_t>(frame.width * frame.height);
    const std::vector<std::uint8_t> symbols = LzwReader(packed, symbol_bits).read(pixels);
    if (symbols.size() < pixels)
      fail<DataError>("damaged GIF: it ends early, {} of {} pixels are missing",
                      pixels - symbols.size(),
                      pixels);
    if (frame.width < out.width || frame.height < out.height)
      for (std::int64_t i = 0; i < out.height * out.width; ++i)
        paint(out, i, transparent_.value_or(0));
    for (std::int64_t y = 0; y < frame.height; ++y) {
      const std::int64_t row = frame.top + (frame.interlaced ? interlaced_row(y, frame.height) : y);
      for (std::int64_t x = 0; x < frame.width; ++x)
        paint(out,
              row * out.width + frame.left + x,
              symbols[static_cast<std::size_t>(y * frame.width + x)]);
    }
    return out;
  }

  void paint(Image& image, std::int64_t pixel, std::size_t colour) const {
    if (colour >= colours_ && colour == transparent_) return;  // black
    if (colour >= colours_)
      fail<DataError>("damaged GIF: colour {} of a palette of {}", colour, colours_);
    std::copy_n(&palette_[3 * colour], 3, &image.pixels[static_cast<std::size_t>(3 * pixel)]);
  }

  Cursor in_;
  std::int64_t max_pixels_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::array<std::uint8_t, 768> palette_{};  ///< without one in the file: grey
  std::size_t colours_ = 256;
  std::optional<std::size_t> transparent_;  ///< this colour; also where no image was drawn
};

}  // namespace

Image decode_gif(Bytes file, std::int64_t max_pixels) {
  return GifReader(file, max_pixels).first_image();
}

}  // namespace learn::data
