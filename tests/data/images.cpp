#include "tests/data/images.h"

#include "framework/core/error.h"
#include "framework/core/random.h"

#include <png.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>

// It needs sizes and files of the C library.
#include <jpeglib.h>

namespace learn::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "learn dätä XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail<IoError>("cannot make the folder '{}'", name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_bytes(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out) fail<IoError>("cannot write '{}'", path.string());
}

std::vector<std::uint8_t> read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> plain(std::int64_t height,
                                std::int64_t width,
                                std::uint8_t red,
                                std::uint8_t green,
                                std::uint8_t blue) {
  std::vector<std::uint8_t> rgb;
  for (std::int64_t i = 0; i < height * width; ++i) rgb.insert(rgb.end(), {red, green, blue});
  return rgb;
}

std::vector<std::uint8_t> jpeg(const std::vector<std::uint8_t>& rgb,
                               std::int64_t height,
                               std::int64_t width,
                               const JpegKind& kind) {
  jpeg_compress_struct out{};
  jpeg_error_mgr errors{};
  out.err = jpeg_std_error(&errors);
  jpeg_create_compress(&out);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&out, &bytes, &size);
  out.image_width = static_cast<JDIMENSION>(width);
  out.image_height = static_cast<JDIMENSION>(height);
  out.input_components = 3;
  out.in_color_space = JCS_RGB;
  jpeg_set_defaults(&out);
  jpeg_set_quality(&out, 100, TRUE);
  out.comp_info[0].h_samp_factor = out.comp_info[0].v_samp_factor = 1;
  out.restart_interval = kind.restart_interval;
  if (kind.progressive) jpeg_simple_progression(&out);
  const jpeg_scan_info each[] = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (kind.scan_by_component) {
    out.scan_info = each;
    out.num_scans = 3;
  }
  jpeg_start_compress(&out, TRUE);
  for (std::int64_t y = 0; y < height; ++y) {
    std::vector<std::uint8_t> row(&rgb[static_cast<std::size_t>(3 * width * y)],
                                  &rgb[static_cast<std::size_t>(3 * width * y)] + 3 * width);
    JSAMPROW at = row.data();
    jpeg_write_scanlines(&out, &at, 1);
  }
  jpeg_finish_compress(&out);
  jpeg_destroy_compress(&out);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  free(bytes);
  return file;
}

std::vector<std::uint8_t> png(const std::vector<std::uint8_t>& pixels,
                              std::int64_t height,
                              std::int64_t width,
                              int channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = 0;
  int ok = png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr);
  std::vector<std::uint8_t> out(size);
  ok = ok != 0 ? png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr)
               : 0;
  if (ok == 0) fail<Error>("cannot make a PNG: {}", image.message);
  return out;
}

std::vector<std::uint8_t> with_png_chunk(const std::vector<std::uint8_t>& png,
                                         const std::string& type,
                                         const std::vector<std::uint8_t>& content,
                                         bool late) {
  std::vector<std::uint8_t> chunk;
  const auto add_word = [&](std::size_t v) {
    for (int shift = 24; shift >= 0; shift -= 8)
      chunk.push_back(static_cast<std::uint8_t>(v >> shift));
  };
  add_word(content.size());
  chunk.insert(chunk.end(), type.begin(), type.end());
  chunk.insert(chunk.end(), content.begin(), content.end());
  add_word(crc32(0, &chunk[4], static_cast<uInt>(chunk.size() - 4)));
  constexpr std::ptrdiff_t kHeaderEnd = 8 + 25;
  constexpr std::ptrdiff_t kEnd = 12;
  std::vector<std::uint8_t> out = png;
  out.insert(late ? out.end() - kEnd : out.begin() + kHeaderEnd, chunk.begin(), chunk.end());
  return out;
}

data::Dataset small_set(std::int64_t n, std::int64_t height, std::int64_t width, int classes) {
  data::Dataset set;
  set.name = "small";
  set.height = height;
  set.width = width;
  for (int c = 0; c < classes; ++c) set.classes.push_back("class " + std::to_string(c));
  for (std::int64_t i = 0; i < n; ++i) set.labels.push_back(i % classes);
  for (std::int64_t p = 0; p < n * height * width * 3; ++p)
    set.pixels.push_back(static_cast<std::uint8_t>(
        random4(1, RandomPurpose::test, 0, static_cast<std::uint64_t>(p)).v[0]));
  return set;
}

}  // namespace learn::test
