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

/// Returns where in a path the part below `folder` starts; the end if the path is not below it.
fs::path::iterator below(const fs::path& path, const fs::path& folder) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() ? at : path.end();
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
    const TreeListing listing = tree_.list({});
    for (const TreeProblem& folder : listing.unreadable)
      fail<DataError>("cannot read the folder '{}': {}", tree_.text(folder.path), folder.why);
    for (const fs::path& path : listing.files) {
      const auto start = [&] { return tree_.start_of(path); };
      if (auto why = why_passed_over(path, tree_.text(path), start))
        out_.files.passed_over.push_back(std::move(*why));
      else
        take(path);
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

  void take(const fs::path& path) {
    const auto place = std::ranges::find_if(out_.folders, [&](const auto& folder) {
      return folder.first == Part::unsaid || below(path, folder.second.folder) != path.end();
    });
    if (place == out_.folders.end()) return pass_over(path, "outside of the parts");
    LabelledFile file{.path = path, .part = place->first};
    if (valid_ && valid_->find(path.generic_string()))
      file.part = Part::valid;
    else if (valid_ && file.part == Part::valid)
      return;
    else if (valid_ && file.part == Part::unsaid)
      file.part = Part::train;
    const auto inner = below(path, place->second.classes);
    if (label_) {
      file.labels = {label_of(path, inner)};
    } else if (inner == path.end() || std::next(inner) == path.end()) {
      return pass_over(path, kOutsideOfClasses);
    } else {
      file.labels = {inner->string()};
      note_part_in_class(std::next(inner), path.end());
    }
    out_.files.files.push_back(std::move(file));
  }

  /// `inner`: where the path below its part starts.
  [[nodiscard]] std::string label_of(const fs::path& path, fs::path::iterator inner) const {
    fs::path rest;
    for (; inner != path.end(); ++inner) rest /= *inner;
    const auto label = rest.empty() ? std::nullopt : label_->find(rest.generic_string());
    if (label && !label->empty()) return *label;
    return label_->label_of(path.generic_string(), "'" + tree_.text() + "'");
  }

  /// Notes "train" and "1.png" of "cat/train/1.png".
  void note_part_in_class(fs::path::iterator first, fs::path::iterator end) {
    const bool folder = std::next(first) != end;
    const Part part = folder && parts_in_classes_ ? part_named(first->string()) : Part::unsaid;
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
          out_.files.files.front().path.string(),
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
