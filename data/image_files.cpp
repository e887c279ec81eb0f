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

/// All images below a folder, hidden ones left out. Links to folders are not followed: they may
/// loop.
void add_folder(const fs::path& path, const fs::path& name, std::vector<ImageFile>& found) {
  const auto bad = [&](const fs::path& which, const std::string& why) {
    found.push_back({which.string(), {}, nullptr, why});
  };
  std::error_code error;
  fs::directory_iterator at(path, error);
  if (error) return bad(name, error.message());
  for (; at != fs::directory_iterator(); at.increment(error)) {
    const fs::path entry = at->path(), its_name = name / entry.filename();
    if (entry.filename().string().starts_with('.')) continue;
    const fs::file_status status = fs::status(entry, error);
    if (fs::is_directory(status)) {
      if (!at->is_symlink(error)) add_folder(entry, its_name, found);
    } else if (!has_image_name(entry)) {
      continue;
    } else if (fs::is_regular_file(status)) {
      found.push_back({its_name.string(), entry, nullptr});
    } else {
      bad(its_name, error ? error.message() : "it is not a regular file");
    }
  }
  if (error) bad(name, error.message());
}

/// All images in an archive.
void add_archive(const fs::path& path, const fs::path& name, std::vector<ImageFile>& found) {
  std::vector<BadMember> bad;
  std::shared_ptr<const FileTree> tree;
  try {
    tree = open_archive(path, &bad);
  } catch (const DataError& error) {
    fail<DataError>("neither a JPEG nor a PNG image; and as an archive: {}", error.what());
  }
  for (const fs::path& file : tree->files({}))
    if (has_image_name(file)) found.push_back({(name / file).string(), file, tree});
  for (const BadMember& member : bad)
    found.push_back({(member.path.empty() ? name : name / member.path.relative_path()).string(),
                     {},
                     nullptr,
                     member.reason});
}

std::vector<ImageFile> files_of(const fs::path& path, const std::string& name) {
  if (!fs::exists(path)) fail<DataError>("there is no such file or folder");
  std::vector<ImageFile> found;
  if (fs::is_directory(path)) {
    add_folder(path, name, found);
    std::ranges::sort(found, {}, [](const ImageFile& one) { return fs::path(one.name); });
  } else {
    if (is_image(path)) return {{name, path, nullptr}};
    add_archive(path, name, found);
  }
  if (found.empty()) fail<DataError>("no .jpg, .jpeg or .png file is in it");
  return found;
}

}  // namespace

Image ImageFile::read() const {
  if (!problem.empty()) fail<DataError>("{}", problem);
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
