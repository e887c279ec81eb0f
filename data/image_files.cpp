#include "data/image_files.h"

#include "data/image_codec.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <algorithm>
#include <array>
#include <span>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  if (has_image_name(path)) return true;
  try {
    const RegularFile file(path);
    if (file.size() == 0) return true;  // a damaged one
    std::array<std::uint8_t, 8> start{};
    if (file.size() >= start.size()) file.read(0, std::as_writable_bytes(std::span(start)));
    return begins_like_image(start);
  } catch (const IoError& error) {
    fail<DataError>("{}", error.what());
  }
}

std::unique_ptr<FileTree> open(const fs::path& path) {
  if (fs::is_directory(path)) return open_tree(path);
  try {
    return open_archive(path);
  } catch (const DataError& error) {
    fail<DataError>("neither a JPEG nor a PNG image; and as an archive: {}", error.what());
  }
}

std::vector<ImageFile> files_of(const fs::path& path, const std::string& name) {
  if (!fs::exists(path)) fail<DataError>("there is no such file or folder");
  if (!fs::is_directory(path) && is_image(path)) return {{name, path, nullptr}};
  const std::shared_ptr<const FileTree> tree = open(path);
  std::vector<ImageFile> found;
  for (const fs::path& file : tree->files({}))
    if (has_image_name(file)) found.push_back({(fs::path(name) / file).string(), file, tree});
  if (found.empty()) fail<DataError>("no .jpg, .jpeg or .png file is in it");
  return found;
}

}  // namespace

Image ImageFile::read() const {
  return decode_image(tree == nullptr ? read_file(path) : tree->read(path));
}

std::vector<ImageFile> image_files(const fs::path& path, const std::string& name) {
  try {
    return files_of(path, name);
  } catch (const fs::filesystem_error& error) {
    fail<DataError>("{}", error.code().message());
  }
}

Image read_image(const fs::path& path) {
  try {
    return decode_image(read_file(path));
  } catch (const DataError& error) {
    fail<DataError>("'{}': {}", path.string(), error.what());
  }
}

}  // namespace learn::data
