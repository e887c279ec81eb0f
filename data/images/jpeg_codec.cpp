#include "data/images/exif.h"
#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string_view>
#include <utility>

// These need the C library's sizes and files, from the headers above.
#include <jerror.h>
#include <jpeglib.h>

namespace learn::data {
namespace {

/// CMYK as stored in JPEG files by Adobe's convention: 255 means no ink.
void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, std::vector<std::uint8_t>& rgb) {
  for (std::size_t i = 0; i < rgb.size() / 3; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + c] * cmyk[4 * i + 3] / 255);
}

/// libjpeg on a file in memory. Its errors are long jumps out of C code, which skip destructors, so
/// the lambdas that `attempt` calls hold no objects with one.
class JpegReader {
 public:
  explicit JpegReader(Bytes file) : file_(file) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = stop_at_error;
    errors_.emit_message = weigh_warning;
    progress_.progress_monitor = limit_scans;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  void read_header() {
    attempt([this] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
      jpeg_mem_src(&jpeg_, file_.data(), static_cast<unsigned long>(file_.size()));
      constexpr int kApp1 = JPEG_APP0 + 1;
      jpeg_save_markers(&jpeg_, kApp1, 0xFFFF);
      jpeg_read_header(&jpeg_, FALSE);
    });
    // A file of tables only is not an error to the decoder.
    if (jpeg_.image_width == 0 || jpeg_.image_height == 0)
      fail<DataError>("damaged JPEG: it has no frame header, which contains the image size");
    for (const jpeg_marker_struct* marker = jpeg_.marker_list; marker != nullptr;
         marker = marker->next) {
      const Bytes content(marker->data, marker->data_length);
      if (!has_exif_header(content)) continue;
      orientation_ = exif_orientation(content);
      break;
    }
  }

  [[nodiscard]] std::int64_t width() const { return jpeg_.image_width; }
  [[nodiscard]] std::int64_t height() const { return jpeg_.image_height; }
  [[nodiscard]] bool is_cmyk() const {
    return jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
  }

  [[nodiscard]] int orientation() const { return orientation_; }

  void read_pixels(std::vector<std::uint8_t>& pixels) {
    jpeg_.out_color_space = is_cmyk() ? JCS_CMYK : JCS_RGB;
    attempt([this] { jpeg_start_decompress(&jpeg_); });
    check_scans();
    const std::size_t row_bytes =
        jpeg_.output_width * static_cast<std::size_t>(jpeg_.output_components);
    std::uint8_t* row = pixels.data();
    attempt([&] {
      for (; jpeg_.output_scanline < jpeg_.output_height; row += row_bytes)
        jpeg_read_scanlines(&jpeg_, &row, 1);
      jpeg_finish_decompress(&jpeg_);
    });
  }

 private:
  template <class Step>
  void attempt(const Step& step) {
    if (setjmp(failed_) == 0) return step();
    if (ended_) fail<DataError>("damaged JPEG: it ends early, and pixels are missing");
    fail<DataError>("damaged JPEG: {}", why_.data());
  }

  /// Called when all scans of a multi-scan image have been read.
  void check_scans() const {
    if (jpeg_has_multiple_scans(const_cast<j_decompress_ptr>(&jpeg_)) == FALSE) return;
    const bool progressive = jpeg_.coef_bits != nullptr;
    for (int c = 0; c < jpeg_.num_components; ++c)
      if (jpeg_.comp_info[c].quant_table == nullptr || (progressive && jpeg_.coef_bits[c][0] < 0))
        fail<DataError>("damaged JPEG: the scan of component {} is missing", c + 1);
    if (!ended_ || !progressive) return;
    // Without the end mark, scans may be missing as well.
    for (int c = 0; c < jpeg_.num_components; ++c)
      for (const int bits_to_come : jpeg_.coef_bits[c])
        if (bits_to_come != 0)
          fail<DataError>("damaged JPEG: it ends early, and its last scans are missing");
  }

  [[noreturn]] void stop() { std::longjmp(failed_, 1); }

  [[noreturn]] static void stop_at_error(j_common_ptr jpeg) {
    auto* self = static_cast<JpegReader*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, self->why_.data());
    self->stop();
  }

  /// Fails on warnings that mean lost pixels.
  static void weigh_warning(j_common_ptr jpeg, int level) {
    if (level >= 0) return;  // a trace message
    switch (jpeg->err->msg_code) {
      case JWRN_ADOBE_XFORM:
      case JWRN_JFIF_MAJOR:
      case JWRN_NOT_SEQUENTIAL:
        return;
      case JWRN_JPEG_EOF:
        // If pixels are missing too, the next warning or `check_scans` reports it.
        static_cast<JpegReader*>(jpeg->client_data)->ended_ = true;
        return;
      case JWRN_EXTRANEOUS_DATA: {
        // Between segments these bytes are padding; within a scan they are pixels that were not
        // decoded.
        const int marker = jpeg->err->msg_parm.i[1];
        if (marker < JPEG_RST0 || marker > JPEG_RST0 + 7) return;
        break;
      }
      default:
        break;
    }
    stop_at_error(jpeg);
  }

  /// A small progressive file may otherwise keep the decoder busy for hours.
  static void limit_scans(j_common_ptr jpeg) {
    constexpr int kMaxScans = 500;
    auto* self = static_cast<JpegReader*>(jpeg->client_data);
    if (self->jpeg_.input_scan_number <= kMaxScans) return;
    constexpr std::string_view kWhy = "it has more than 500 scans";
    std::ranges::copy(kWhy, self->why_.begin());
    self->ended_ = false;
    self->stop();
  }

  Bytes file_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf failed_{};
  std::array<char, JMSG_LENGTH_MAX> why_{};
  int orientation_ = 1;
  bool ended_ = false;  ///< the file ended before the end mark
};

}  // namespace

Image decode_jpeg(Bytes file, std::int64_t max_pixels) {
  JpegReader reader(file);
  reader.read_header();
  Image image = sized_image(reader.width(), reader.height(), max_pixels);
  if (reader.is_cmyk()) {
    std::vector<std::uint8_t> inks(image.pixels.size() / 3 * 4);
    reader.read_pixels(inks);
    cmyk_to_rgb(inks, image.pixels);
  } else {
    reader.read_pixels(image.pixels);
  }
  return upright(std::move(image), reader.orientation());
}

}  // namespace learn::data
