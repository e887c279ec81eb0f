#include "data/image_files.h"

#include "data/image_codec.h"
#include "data/other_content.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <algorithm>
#include <span>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> first_bytes(const fs::path& path, std::size_t bytes) {
  try {
    const RegularFile file(path, "it");
    std::vector<std::uint8_t> start(std::min<std::size_t>(file.size(), bytes));
    file.read(0, std::as_writable_bytes(std::span(start)));
    return start;
  } catch (const IoError& error) {
    fail<DataError>("{}", error.what());
  }
}

bool is_image(const fs::path& path) {
  if (has_image_name(path)) return true;
  const std::vector<std::uint8_t> start = first_bytes(path, kFormatBytes);
  return start.empty() || *image_format(start) != '\0';  // an empty one is a damaged image
}

/// Below a folder. Whatever has an image's name is taken for one: reading it says if it is none.
class FolderWalk {
 public:
  FolderWalk(fs::path top, fs::path name) : top_(std::move(top)), name_(std::move(name)) {}

  [[nodiscard]] std::vector<ImageFile> images() {
    visit({}, fs::directory_iterator(top_));
    while (!folders_.empty()) {
      const fs::path folder = std::move(folders_.back());
      folders_.pop_back();
      std::error_code error;
      const fs::directory_iterator entries(top_ / folder, error);
      if (error)
        lose(folder, error);
      else
        visit(folder, entries);
    }
    return std::move(found_);
  }

 private:
  void visit(const fs::path& folder, fs::directory_iterator entries) {
    std::error_code error;
    for (; entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::path path = folder / entries->path().filename();
      if (path.filename().string().starts_with('.')) continue;
      const bool image = has_image_name(path);
      std::error_code unknown;  // what it is: then opening it says why
      const bool is_folder = entries->symlink_status(unknown).type() == fs::file_type::directory;
      if (is_folder || (unknown && !image))
        folders_.push_back(path);
      else if (image && !entries->is_directory(unknown))
        found_.push_back({(name_ / path).string(), top_ / path, nullptr, {}});
    }
    if (error) lose(folder, error);
  }

  void lose(const fs::path& folder, const std::error_code& error) {
    found_.push_back({(name_ / folder).string(),
                      top_ / folder,
                      nullptr,
                      "the folder cannot be read: " + error.message()});
  }

  fs::path top_;
  fs::path name_;
  std::vector<fs::path> folders_;  ///< yet to be visited: one is open at a time
  std::vector<ImageFile> found_;
};

std::vector<ImageFile> archive_images(const fs::path& path, const fs::path& name) {
  std::vector<TreeProblem> problems;
  std::shared_ptr<const FileTree> tree;
  try {
    tree = open_archive(path, problems);
  } catch (const DataError& error) {
    const std::vector<std::uint8_t> start = first_bytes(path, kContentBytes);
    const OtherContent other = other_content(start);
    if (!other.name.empty() && !other.unpacks_to_more)
      fail<DataError>("it is {}, not {}, nor an archive (tar, zip): {}",
                      other.name,
                      image_formats(),
                      other.advice);
    fail<DataError>("it is not {}, nor an archive that can be read (tar, zip): {}",
                    image_formats(),
                    error.what());
  }
  std::vector<ImageFile> found;
  for (const fs::path& file : tree->files({}))
    if (has_image_name(file)) found.push_back({(name / file).string(), file, tree, {}});
  for (const TreeProblem& problem : problems) {
    if (problem.of_file && !has_image_name(problem.path)) continue;
    // A member's name may begin with "/".
    std::string full = name.string();
    if (!full.empty() && !problem.path.empty()) full += '/';
    found.push_back({full + problem.path.string(), problem.path, tree, problem.why});
  }
  return found;
}

std::vector<ImageFile> files_of(const fs::path& path, const std::string& name) {
  if (!fs::exists(path)) fail<DataError>("there is no such file or folder");
  const bool folder = fs::is_directory(path);
  if (!folder && is_image(path)) return {{name, path, nullptr, {}}};
  std::vector<ImageFile> found =
      folder ? FolderWalk(path, name).images() : archive_images(path, name);
  if (found.empty()) fail<DataError>("no {} file is in it", image_extensions());
  // What is said of the rest of an archive comes last.
  std::ranges::stable_sort(found, [](const ImageFile& a, const ImageFile& b) {
    return std::pair(a.path.empty(), a.path) < std::pair(b.path.empty(), b.path);
  });
  return found;
}

}  // namespace

Image ImageFile::read(std::int64_t channels) const {
  if (!error.empty()) fail<DataError>("{}", error);
  return decode_image(tree == nullptr ? read_file(path) : tree->read(path), {.channels = channels});
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
