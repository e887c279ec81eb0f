#include "data/sets/path_labels.h"

#include "data/sets/pattern.h"
#include "framework/core/error.h"
#include "framework/core/log.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTakeAsClasses = "if they are classes, append ':parts=false' to the path";

/// Returns the part of a path below `folder`; nothing if the path is not below it.
std::optional<std::string_view> below(std::string_view path, const fs::path& folder) {
  const std::string& start = folder.native();
  if (start.empty()) return path;
  const bool is_below =
      path.size() > start.size() && path.starts_with(start) && path[start.size()] == '/';
  return is_below ? std::optional(path.substr(start.size() + 1)) : std::nullopt;
}

std::optional<Pattern> pattern_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<Pattern>(text);
}

class Labeller {
 public:
  Labeller(const FileTree& tree, const PathLabelOptions& options)
      : tree_(tree),
        options_(options),
        label_(pattern_of(options.label_regex)),
        valid_(pattern_of(options.valid_regex)) {
    out_.files.name = tree.name();
    out_.files.where = tree.text();
  }

  PathLabels labelled() {
    find_parts();
    TreeListing listing = tree_.list({});
    for (const TreeProblem& folder : listing.unreadable)
      fail<DataError>("cannot read the folder '{}': {}", tree_.text(folder.path), folder.why);
    out_.files.files.reserve(listing.files.size());
    for (std::string& path : listing.files) {
      const auto start = [&] { return tree_.start_of(path); };
      if (auto why = why_passed_over(
              path, [&] { return tree_.text(path); }, start))
        out_.files.passed_over.push_back(std::move(*why));
      else
        take(std::move(path));
    }
    for (const TreeProblem& other : listing.others) pass_over(other.path, other.why);
    check_parts_in_classes();
    return std::move(out_);
  }

 private:
  void find_parts() {
    const fs::path root = inner_folder({}, options_.parts);
    const std::vector<std::string> names = tree_.folders(root);
    for (const std::string& name : names) {
      const Part part = options_.parts ? part_named(name) : Part::unsaid;
      if (part == Part::unsaid) continue;
      const fs::path folder = root / name;
      const auto [there, fresh] =
          out_.folders.emplace(part, PartFolder{folder, inner_folder(folder, false)});
      if (!fresh)
        fail<DataError>("'{}' and '{}' are names of the same part: keep only one; {}",
                        tree_.text(there->second.folder),
                        tree_.text(folder),
                        kTakeAsClasses);
    }
    if (!out_.folders.empty()) return;
    if (options_.parts && look_like_parts(names))
      fail<DataError>(
          "the folders of '{}' ({}) look like parts: name them train, valid and test; {}",
          tree_.text(root),
          join(names),
          kTakeAsClasses);
    out_.folders.emplace(Part::unsaid, PartFolder{root, root});
  }

  /// Descends into the only folder in `folder` as long as it holds folders.
  [[nodiscard]] fs::path inner_folder(const fs::path& folder, bool parts) const {
    fs::path inner = folder;
    for (;;) {
      const std::vector<std::string> names = tree_.folders(inner);
      if (names.size() != 1 || (parts && part_named(names[0]) != Part::unsaid) ||
          std::ranges::find(options_.known_classes, names[0]) != options_.known_classes.end() ||
          tree_.folders(inner / names[0]).empty())
        break;
      inner /= names[0];
    }
    if (inner != folder && !label_)
      log::info("[data] using the classes in '{}', the only folder", tree_.text(inner));
    return inner;
  }

  void pass_over(const fs::path& path, const std::string& why) {
    out_.files.passed_over.push_back({.file = tree_.text(path), .kind = why});
  }

  void take(std::string path) {
    const auto place = std::ranges::find_if(out_.folders, [&](const auto& folder) {
      return folder.first == Part::unsaid || below(path, folder.second.folder);
    });
    if (place == out_.folders.end()) return pass_over(path, "outside of the parts");
    LabelledFile file{.part = place->first};
    if (valid_ && valid_->find(path))
      file.part = Part::valid;
    else if (valid_ && file.part == Part::valid)
      return;
    else if (valid_ && file.part == Part::unsaid)
      file.part = Part::train;
    const std::string_view inner = below(path, place->second.classes).value_or("");
    const std::size_t name = inner.find('/');
    if (label_) {
      file.labels = {label_of(path, inner)};
    } else if (name == std::string_view::npos) {
      return pass_over(path, kOutsideOfClasses);
    } else {
      file.labels.emplace_back(inner.substr(0, name));
      note_part_in_class(inner.substr(name + 1));
    }
    file.path = std::move(path);
    out_.files.files.push_back(std::move(file));
  }

  /// `inner`: the path below its part.
  [[nodiscard]] std::string label_of(const std::string& path, std::string_view inner) const {
    const auto label = inner.empty() ? std::nullopt : label_->find(std::string(inner));
    if (label && !label->empty()) return *label;
    return label_->label_of(path, "'" + tree_.text() + "'");
  }

  /// Notes "train/1.png" of "cat/train/1.png".
  void note_part_in_class(std::string_view inner) {
    const std::size_t name = inner.find('/');
    const bool folder = name != std::string_view::npos;
    const Part part =
        folder && parts_in_classes_ ? part_named(inner.substr(0, name)) : Part::unsaid;
    if (part == Part::unsaid)
      parts_in_classes_ = false;
    else
      parts_in_class_.insert(part);
  }

  void check_parts_in_classes() const {
    const bool asked = options_.parts && !valid_ && out_.folders.contains(Part::unsaid);
    if (asked && parts_in_classes_ && parts_in_class_.size() > 1)
      fail<DataError>(
          "the class folders of '{}' contain folders of parts, such as '{}': move these above the "
          "classes, or append ':valid_regex=REGEX' to the path; {}",
          tree_.text(),
          out_.files.files.front().path,
          "or ':parts=false', if they are not parts");
  }

  const FileTree& tree_;
  const PathLabelOptions& options_;
  std::optional<Pattern> label_;
  std::optional<Pattern> valid_;
  std::set<Part> parts_in_class_;
  bool parts_in_classes_ = true;  ///< every image is in such a folder
  PathLabels out_;
};

}  // namespace

PathLabels label_by_path(const FileTree& tree, const PathLabelOptions& options) {
  return Labeller(tree, options).labelled();
}

}  // namespace learn::data
