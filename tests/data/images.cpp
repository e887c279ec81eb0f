#include "tests/data/images.h"

#include "framework/core/error.h"
#include "framework/core/random.h"

#include <png.h>
#include <stdlib.h>
#include <turbojpeg.h>

#include <fstream>
#include <iterator>

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
                               std::int64_t width) {
  tjhandle handle = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int rc = tjCompress2(handle,
                             rgb.data(),
                             static_cast<int>(width),
                             0,
                             static_cast<int>(height),
                             TJPF_RGB,
                             &bytes,
                             &size,
                             TJSAMP_444,
                             100,
                             0);
  std::vector<std::uint8_t> out(bytes, bytes + size);
  tjFree(bytes);
  tjDestroy(handle);
  if (rc != 0) fail<Error>("cannot make a JPEG");
  return out;
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
