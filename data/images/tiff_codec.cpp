#include "data/images/exif.h"
#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace learn::data {
namespace {

/// A file in memory, as libtiff reads it.
struct Source {
  Bytes file;
  std::size_t at = 0;
  std::string error;  ///< the first error
};

tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
  auto& source = *static_cast<Source*>(handle);
  const std::size_t left = source.file.size() - std::min(source.at, source.file.size());
  const std::size_t n = std::min(left, static_cast<std::size_t>(size));
  if (n > 0) std::memcpy(to, &source.file[source.at], n);
  source.at += n;
  return static_cast<tmsize_t>(n);
}

tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t to, int from) {
  auto& source = *static_cast<Source*>(handle);
  const std::size_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? source.at : source.file.size();
  source.at = base + static_cast<std::size_t>(to);
  return source.at;
}

int close(thandle_t) { return 0; }

toff_t size(thandle_t handle) { return static_cast<Source*>(handle)->file.size(); }

/// Maps the whole file, so that libtiff does not copy it in pieces: version 4.5.0 rejects
/// uncompressed tiles when it rounds up the size of such a piece.
int map(thandle_t handle, void** base, toff_t* bytes) {
  const Bytes file = static_cast<Source*>(handle)->file;
  *base = const_cast<std::uint8_t*>(file.data());
  *bytes = file.size();
  return 1;
}

void unmap(thandle_t, void*, toff_t) {}

int keep_error(TIFF*, void* to, const char*, const char* format, va_list values) {
  std::array<char, 256> text{};
  (void)std::vsnprintf(text.data(), text.size(), format, values);
  std::string& error = static_cast<Source*>(to)->error;
  if (error.empty()) error = text.data();
  return 1;
}

/// Ignores warnings, most of which are about tags that libtiff does not support.
int ignore_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

using Options = std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)>;
using Tiff = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

Tiff open(Source& source, std::int64_t max_pixels) {
  const Options options(TIFFOpenOptionsAlloc(), &TIFFOpenOptionsFree);
  // A strip is at most the whole image, of four channels of 16 bits; a tile may claim any size.
  constexpr std::int64_t kBytes = 8;
  constexpr std::int64_t kFree = 1 << 20;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), max_pixels * kBytes + kFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, nullptr);
  return {TIFFClientOpenExt(
              "", "r", &source, read, write, seek, close, size, map, unmap, options.get()),
          &TIFFClose};
}

[[noreturn]] void refuse(const std::string& why) { fail<DataError>("damaged TIFF: {}", why); }

struct Reading : TIFFRGBAImage {
  Reading(TIFF* tiff, const Source& source) : TIFFRGBAImage{} {
    std::array<char, 1024> why{};
    constexpr int kStopAtErrors = 1;
    if (TIFFRGBAImageBegin(this, tiff, kStopAtErrors, why.data()) == 0)
      refuse(source.error.empty() ? why.data() : source.error);
  }
  ~Reading() { TIFFRGBAImageEnd(this); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
};

}  // namespace

Image decode_tiff(Bytes file, std::int64_t max_pixels) {
  Source source{file, 0, {}};
  const Tiff tiff = open(source, max_pixels);
  if (tiff == nullptr) refuse(source.error);
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  Image image = sized_image(width, height, max_pixels);
  std::uint16_t extra = 0;
  const std::uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds);
  if (extra > 0 && kinds[0] == EXTRASAMPLE_UNASSALPHA) {
    // Otherwise libtiff multiplies colours by the first extra channel.
    std::vector<std::uint16_t> bands(kinds, kinds + extra);
    bands[0] = EXTRASAMPLE_ASSOCALPHA;
    TIFFSetField(tiff.get(), TIFFTAG_EXTRASAMPLES, extra, bands.data());
  }
  Reading reading(tiff.get(), source);
  const int orientation = reading.orientation;
  reading.req_orientation = reading.orientation;  // keep the stored order of rows: `upright`
                                                  // handles all eight
  std::vector<std::uint32_t> raster(image.pixels.size() / 3);
  if (TIFFRGBAImageGet(&reading, raster.data(), width, height) == 0 || !source.error.empty())
    refuse(source.error.empty() ? "it cannot be decoded" : source.error);
  for (std::size_t i = 0; i < raster.size(); ++i) {
    image.pixels[3 * i] = TIFFGetR(raster[i]);
    image.pixels[3 * i + 1] = TIFFGetG(raster[i]);
    image.pixels[3 * i + 2] = TIFFGetB(raster[i]);
  }
  return upright(std::move(image), orientation);
}

}  // namespace learn::data
