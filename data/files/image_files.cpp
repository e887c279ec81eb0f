#include "data/files/image_files.h"

#include "data/images/image_codec.h"
#include "data/images/other_content.h"
#include "data/images/passed_over.h"
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
  if (has_image_name(path.native())) return true;
  const std::vector<std::uint8_t> start = first_bytes(path, kFormatBytes);
  return start.empty() || *image_format(start) != '\0';  // an empty one is a damaged image
}

/// Compares paths by their parts, as std::filesystem::path does: "a/b" is before "a.b".
bool is_before(const std::string& a, const std::string& b) {
  const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
  return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
}

/// Returns the images of a tree. In a folder each also has the path of its file.
std::vector<ImageFile> images_of(const std::shared_ptr<const FileTree>& tree,
                                 const std::string& name,
                                 const std::string& folder,
                                 std::vector<PassedOver>& passed_over) {
  const auto image = [&](const std::string& path, const std::string& error) {
    return folder.empty()
               ? ImageFile{path_below(name, path), path, tree, error}
               : ImageFile{path_below(name, path), path_below(folder, path), nullptr, error};
  };
  const TreeListing listing = tree->list({});
  std::vector<ImageFile> found;
  for (const std::string& file : listing.files) {
    const auto start = [&] { return tree->start_of(file); };
    if (auto why = why_passed_over(
            file, [&] { return path_below(name, file); }, start))
      passed_over.push_back(std::move(*why));
    else
      found.push_back(image(file, {}));
  }
  for (const TreeProblem& other : listing.others)
    passed_over.push_back({.file = path_below(name, other.path), .kind = other.why});
  for (const TreeProblem& lost : listing.unreadable)
    found.push_back(image(lost.path, "the folder cannot be read: " + lost.why));
  return found;
}

std::vector<ImageFile> archive_images(const fs::path& path,
                                      const std::string& name,
                                      std::vector<PassedOver>& passed_over) {
  std::vector<TreeProblem> problems;
  std::shared_ptr<const FileTree> tree;
  try {
    tree = open_archive(path, problems);
  } catch (const DataError& error) {
    const std::vector<std::uint8_t> start = first_bytes(path, kContentBytes);
    const OtherContent other = other_content(start);
    if (!other.name.empty() && !other.unpacks_to_more)
      fail<DataError>("it is {}, neither {} nor an archive (tar, zip): {}",
                      other.name,
                      image_formats(),
                      other.advice);
    fail<DataError>(
        "it is neither {} nor a readable archive (tar, zip): {}", image_formats(), error.what());
  }
  std::vector<ImageFile> found = images_of(tree, name, {}, passed_over);
  for (const TreeProblem& problem : problems) {
    if (problem.of_file && !has_image_name(problem.path.native())) {
      passed_over.push_back(
          {.file = path_below(name, problem.path), .kind = "that cannot be read"});
      continue;
    }
    // A member's name may start with "/".
    std::string full = name;
    if (!full.empty() && !problem.path.empty()) full += '/';
    found.push_back({full + problem.path.string(), problem.path, tree, problem.why});
  }
  return found;
}

std::vector<ImageFile> files_of(const fs::path& path,
                                const std::string& name,
                                std::vector<PassedOver>& passed_over) {
  if (!fs::exists(path)) fail<DataError>("no such file or folder");
  const bool folder = fs::is_directory(path);
  if (!folder && is_image(path)) return {{name, path, nullptr, {}}};
  std::vector<ImageFile> found = folder ? images_of(open_tree(path), name, path, passed_over)
                                        : archive_images(path, name, passed_over);
  if (found.empty())
    fail<DataError>("it contains no {} file{}",
                    image_extensions(),
                    passed_over.empty() ? "" : ", but " + passed_over_text(passed_over));
  // The error for the rest of an archive comes last.
  std::ranges::stable_sort(found, [](const ImageFile& a, const ImageFile& b) {
    return a.path.empty() != b.path.empty() ? b.path.empty() : is_before(a.path, b.path);
  });
  return found;
}

}  // namespace

Image ImageFile::read(std::int64_t channels) const {
  if (!error.empty()) fail<DataError>("{}", error);
  return decode_image(tree == nullptr ? read_file(path) : tree->read(path), {.channels = channels});
}

std::vector<ImageFile> image_files(const fs::path& path, const std::string& name) {
  std::vector<PassedOver> passed_over;
  try {
    std::vector<ImageFile> found = files_of(path, name, passed_over);
    log_passed_over(passed_over, name.empty() ? "standard input" : name);
    return found;
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
