#include "data/image_folder.h"

#include "data/file_tree.h"
#include "data/image_codec.h"
#include "data/resize.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/round_up.h"
#include "framework/runtime/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <set>

namespace learn::data {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr std::size_t kListed = 10;  // paths that an error text shows

bool has_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

std::vector<std::string> class_names(const FileTree& tree, const fs::path& folder) {
  if (!tree.has_folder(folder)) fail<DataError>("there is no folder '{}'", tree.text(folder));
  std::vector<std::string> names = tree.folders(folder);
  if (names.empty()) fail<DataError>("'{}' has no class folders", tree.text(folder));
  return names;
}

std::vector<fs::path> image_files(const FileTree& tree, const fs::path& folder) {
  std::vector<fs::path> files = tree.files(folder);
  std::erase_if(files, [](const fs::path& file) { return !has_image_name(file); });
  return files;
}

/// What became of one file.
struct Decoded {
  Image image;
  std::string error;
  bool scaled = false;
};

class FolderReader {
 public:
  FolderReader(const FileTree& tree,
               const fs::path& folder,
               Split split,
               const FolderOptions& options)
      : tree_(tree), folder_(folder), options_(options) {
    out_.name = tree.name();
    out_.split = split;
  }

  Dataset read() {
    collect();
    return decoded();
  }

  /// What there is of the classes.
  Dataset read_for_evaluation() {
    out_.classes = options_.classes;
    for (const std::string& name : class_names(tree_, folder_)) {
      const auto known = std::ranges::find(out_.classes, name);
      if (known == out_.classes.end())
        fail<DataError>(
            "'{}' has a folder for class '{}', which the model does not know: it knows {}",
            tree_.text(folder_),
            name,
            join(out_.classes));
      add_files(name, known - out_.classes.begin());
    }
    Dataset out = decoded();
    const auto scaled = std::ranges::count_if(decoded_, &Decoded::scaled);
    if (scaled > 0)
      log::info("[data] scaled {} of {} images of '{}' to the model's input, {}x{}",
                scaled,
                out.size(),
                tree_.text(folder_),
                out.width,
                out.height);
    return out;
  }

 private:
  void collect() {
    const std::vector<std::string> present = class_names(tree_, folder_);
    out_.classes = options_.classes.empty() ? present : options_.classes;
    for (std::size_t label = 0; label < out_.classes.size(); ++label) {
      const std::string& name = out_.classes[label];
      if (std::count(out_.classes.begin(), out_.classes.end(), name) > 1)
        fail<UsageError>("class '{}' is named twice", name);
      if (!std::binary_search(present.begin(), present.end(), name))
        fail<DataError>("'{}' has no folder for class '{}'; it has: {}",
                        tree_.text(folder_),
                        name,
                        join(present));
      add_files(name, static_cast<std::int64_t>(label));
    }
  }

  void add_files(const std::string& name, std::int64_t label) {
    const std::vector<fs::path> files = image_files(tree_, folder_ / name);
    if (files.empty())
      fail<DataError>("class folder '{}' has no .jpg, .jpeg or .png files: fill or remove it",
                      tree_.text(folder_ / name));
    files_.insert(files_.end(), files.begin(), files.end());
    labels_.resize(files_.size(), label);
  }

  Dataset decoded() {
    decode();
    report_bad();
    assemble();
    return std::move(out_);
  }

  Decoded decode_one(const fs::path& file) const {
    Decoded result;
    try {
      result.image = decode_image(tree_.read(file));
      if (const auto& size = options_.size) {
        result.scaled = ImageSize{result.image.height, result.image.width} != *size;
        if (result.scaled) result.image = resize_and_crop(result.image, size->height, size->width);
      }
    } catch (const DataError& error) {
      result.error = error.what();
    }
    return result;
  }

  void decode() {
    decoded_.resize(files_.size());
    const auto total = static_cast<std::int64_t>(files_.size());
    ThreadPool pool(options_.threads > 0 ? options_.threads : physical_cores());
    std::mutex mutex;
    std::int64_t done = 0;
    constexpr std::int64_t kBlock = 64;
    pool.run(ceil_div(total, kBlock), [&](std::int64_t block) {
      const std::int64_t end = std::min(total, (block + 1) * kBlock);
      for (std::int64_t i = block * kBlock; i < end; ++i)
        decoded_[static_cast<std::size_t>(i)] = decode_one(files_[static_cast<std::size_t>(i)]);
      const std::lock_guard lock(mutex);
      done += end - block * kBlock;
      if (options_.progress) options_.progress(done, total);
    });
  }

  void report_bad() const {
    std::vector<std::string> bad;
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (!decoded_[i].error.empty())
        bad.push_back(fmt::format("\n  {}: {}", tree_.text(files_[i]), decoded_[i].error));
    if (bad.empty()) return;
    const std::size_t count = bad.size();
    if (count > kListed) {
      bad.resize(kListed);
      bad.push_back(fmt::format("\n  and {} more", count - kListed));
    }
    const std::string list = join(bad, "");
    const double share = static_cast<double>(count) / static_cast<double>(files_.size());
    if (share > options_.max_bad)
      fail<DataError>(
          "{} of {} files in '{}' cannot be decoded (repair or remove them, or allow a share of "
          "them to be skipped):{}",
          count,
          files_.size(),
          tree_.text(folder_),
          list);
    log::warn("[data] skipped {} of {} files in '{}' that cannot be decoded:{}",
              count,
              files_.size(),
              tree_.text(folder_),
              list);
  }

  void assemble() {
    const Image* first = nullptr;
    std::size_t first_at = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      Image& image = decoded_[i].image;
      if (!decoded_[i].error.empty()) continue;
      if (first == nullptr) {
        first = &image;
        first_at = i;
        out_.height = image.height;
        out_.width = image.width;
        out_.pixels.reserve(files_.size() * image.pixels.size());
      }
      if (image.height != out_.height || image.width != out_.width)
        fail<DataError>(
            "images have several sizes: '{}' is {}x{}, '{}' is {}x{}; give one size to "
            "scale them to",
            tree_.text(files_[first_at]),
            out_.width,
            out_.height,
            tree_.text(files_[i]),
            image.width,
            image.height);
      out_.pixels.insert(out_.pixels.end(), image.pixels.begin(), image.pixels.end());
      out_.labels.push_back(labels_[i]);
      out_.files.push_back(tree_.text(files_[i]));
      std::vector<std::uint8_t>().swap(image.pixels);  // the set is in memory once, not twice
    }
    const std::vector<std::int64_t> counts = class_counts(out_);
    const std::set<std::int64_t> wanted(labels_.begin(), labels_.end());
    for (std::size_t label = 0; label < counts.size(); ++label)
      if (counts[label] == 0 && wanted.contains(static_cast<std::int64_t>(label)))
        fail<DataError>("no file of class '{}' in '{}' can be decoded",
                        out_.classes[label],
                        tree_.text(folder_));
  }

  const FileTree& tree_;
  fs::path folder_;
  const FolderOptions& options_;
  Dataset out_;
  std::vector<fs::path> files_;
  std::vector<std::int64_t> labels_;
  std::vector<Decoded> decoded_;
};

constexpr std::array<const char*, 3> kValidNames{"valid", "val", "test"};

void check(const FolderOptions& options) {
  if (options.size && (options.size->height < 1 || options.size->width < 1))
    fail<UsageError>("image size {}x{}: each side must be at least 1",
                     options.size->width,
                     options.size->height);
  if (!(options.max_bad >= 0 && options.max_bad < 1))
    fail<UsageError>("the share of bad files must lie in [0, 1), not {}", options.max_bad);
}

Dataset read_classes(const FileTree& tree,
                     const fs::path& folder,
                     Split split,
                     const FolderOptions& options) {
  check(options);
  return FolderReader(tree, folder, split, options).read();
}

fs::path find_valid(const FileTree& tree, const FolderOptions& options) {
  if (!options.valid.empty()) return options.valid;
  for (const char* name : kValidNames)
    if (tree.has_folder(name)) return name;
  fail<DataError>(
      "'{}' has a folder '{}' but none of valid, val, test beside it: add one, or have "
      "a share of the training images split off",
      tree.text(),
      options.train);
}

DataPair read_train_and_valid(const FileTree& tree, const FolderOptions& options) {
  const fs::path train_path = options.train;
  if (options.valid_fraction.has_value())
    return split_off(read_classes(tree, train_path, Split::train, options),
                     *options.valid_fraction,
                     options.seed);
  const fs::path valid_path = find_valid(tree, options);
  if (tree.same_folder(valid_path, train_path))
    fail<UsageError>("'{}' cannot serve for training and for validation", tree.text(valid_path));
  DataPair pair{read_classes(tree, train_path, Split::train, options), {}};
  FolderOptions same_classes = options;
  same_classes.classes = pair.train.classes;
  if (options.classes.empty())
    for (const std::string& name : class_names(tree, valid_path))
      if (std::find(pair.train.classes.begin(), pair.train.classes.end(), name) ==
          pair.train.classes.end())
        fail<DataError>("class '{}' is in '{}' but not in '{}'",
                        name,
                        tree.text(valid_path),
                        tree.text(train_path));
  pair.valid = read_classes(tree, valid_path, Split::test, same_classes);
  if (pair.valid.height != pair.train.height || pair.valid.width != pair.train.width)
    fail<DataError>(
        "training images are {}x{}, validation images {}x{}: give one size to scale "
        "them to",
        pair.train.width,
        pair.train.height,
        pair.valid.width,
        pair.valid.height);
  return pair;
}

DataPair read_pair(const FileTree& tree, const FolderOptions& options) {
  if (options.valid_fraction.has_value() && !options.valid.empty())
    fail<UsageError>(
        "a validation folder ('{}') and a share to split off ({}) contradict each other",
        options.valid,
        *options.valid_fraction);
  DataPair pair;
  if (tree.has_folder(options.train)) {
    pair = read_train_and_valid(tree, options);
  } else {
    if (!options.valid.empty())
      fail<DataError>("'{}' has no folder '{}'", tree.text(), options.train);
    for (const char* split : kValidNames)
      if (tree.has_folder(split))
        fail<DataError>("'{}' has a folder '{}' but no folder '{}': it is not taken for a class",
                        tree.text(),
                        split,
                        options.train);
    pair = split_off(read_classes(tree, {}, Split::train, options),
                     options.valid_fraction.value_or(0.2),
                     options.seed);
  }
  return pair;
}

Dataset read_for_evaluation(const FileTree& tree, const FolderOptions& options) {
  check(options);
  fs::path folder;
  for (const std::string& name : {options.train, "val"s, "valid"s, "test"s})
    if (tree.has_folder(name)) folder = name;
  Dataset out = FolderReader(tree, folder, Split::test, options).read_for_evaluation();
  if (!folder.empty()) out.name += "/" + folder.string();
  return out;
}

template <class Read>
auto reading(const FileTree& tree, Read read) {
  try {
    return read();
  } catch (const fs::filesystem_error& error) {
    fail<DataError>("cannot read the folder '{}': {}", tree.text(), error.what());
  }
}

}  // namespace

DataPair from_folder(const FileTree& tree, const FolderOptions& options) {
  return reading(tree, [&] { return read_pair(tree, options); });
}

Dataset evaluation_folder(const FileTree& tree, const FolderOptions& options) {
  return reading(tree, [&] { return read_for_evaluation(tree, options); });
}

DataPair from_folder(const fs::path& path, const FolderOptions& options) {
  return from_folder(*open_tree(path), options);
}

}  // namespace learn::data
