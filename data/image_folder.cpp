#include "data/image_folder.h"

#include "data/file_tree.h"
#include "data/image_codec.h"
#include "data/resize.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/processors.h"
#include "framework/core/round_up.h"
#include "framework/core/thread_pool.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <set>

namespace learn::data {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr std::size_t kListed = 10;  // paths that an error text shows

std::vector<std::string> class_names(const FileTree& tree, const fs::path& folder) {
  if (!tree.has_folder(folder)) fail<DataError>("there is no folder '{}'", tree.text(folder));
  std::vector<std::string> names = tree.folders(folder);
  if (names.empty()) fail<DataError>("'{}' has no class folders", tree.text(folder));
  check_class_names(names, tree.text(folder));
  return names;
}

std::vector<fs::path> image_files(const FileTree& tree, const fs::path& folder) {
  std::vector<fs::path> files = tree.files(folder);
  std::erase_if(files, [](const fs::path& file) { return !has_image_name(file); });
  return files;
}

ImageSize dimensions_of(const Image& image) { return {image.height, image.width}; }

constexpr const char* kGiveSize =
    "give one size to scale them to: --image-size N, or ':size=N' behind the path";

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
    if (scaled_ > 0)
      log::info("[data] scaled {} of {} images of '{}' to the model's input, {}x{}",
                scaled_.load(),
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
      fail<DataError>("class folder '{}' has no {} files: fill or remove it",
                      tree_.text(folder_ / name),
                      image_extensions());
    files_.insert(files_.end(), files.begin(), files.end());
    out_.labels.resize(files_.size(), label);
  }

  Dataset decoded() {
    errors_.resize(files_.size());
    first_of_other_size_ = files_.size();
    choose_size();
    check_memory();
    decode();
    report_other_size();
    report_bad();
    drop_bad();
    return std::move(out_);
  }

  [[nodiscard]] Image decoded_file(std::size_t i) const {
    return decode_image(tree_.read(files_[i]));
  }

  /// That of the first image, if none is given.
  void choose_size() {
    size_ = options_.size.value_or(ImageSize{});
    for (std::size_t i = 0; i < files_.size() && size_ == ImageSize{}; ++i) {
      try {
        size_ = dimensions_of(decoded_file(i));
      } catch (const DataError&) {  // `decode` meets it again and keeps its error
      }
    }
    out_.height = size_.height;
    out_.width = size_.width;
  }

  /// Few bytes can claim many pixels; nothing is reserved before it is known that they are wanted.
  void check_memory() {
    constexpr std::uintmax_t kFree = 1ULL << 30U;
    constexpr std::uintmax_t kGrowth = 100;
    const auto needed = static_cast<std::uintmax_t>(out_.image_bytes()) * files_.size();
    const auto refuse = [&](std::string_view why) {
      fail<DataError>("{} images of {}x{} in '{}' need {} MiB of memory, {}: {}",
                      files_.size(),
                      out_.width,
                      out_.height,
                      tree_.text(folder_),
                      needed >> 20U,
                      why,
                      kGiveSize);
    };
    if (!options_.size && needed > kFree) {
      std::uintmax_t bytes = 0;
      for (const fs::path& file : files_) bytes += tree_.bytes(file);
      if ((needed - kFree) / kGrowth > bytes)
        refuse("more than photographs do that have as many bytes in their files");
    }
    const auto memory = static_cast<std::uintmax_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uintmax_t>(::sysconf(_SC_PAGE_SIZE));
    if (needed > memory) refuse(fmt::format("the machine has {}", memory >> 20U));
    try {
      out_.pixels.resize(needed);
    } catch (const std::bad_alloc&) {
      refuse("more than there is");
    }
  }

  void decode_to_place(std::size_t i) {
    try {
      Image image = decoded_file(i);
      const ImageSize size = dimensions_of(image);
      if (size != size_ && !options_.size) return remember_other_size(i, size);
      if (size != size_) {
        image = resize_and_crop(image, size_.height, size_.width);
        ++scaled_;
      }
      std::ranges::copy(image.pixels, out_.pixels.begin() + offset(i));
    } catch (const DataError& error) {
      errors_[i] = error.what();
    }
  }

  void remember_other_size(std::size_t i, ImageSize size) {
    const std::lock_guard lock(mutex_);
    if (i >= first_of_other_size_) return;
    first_of_other_size_ = i;
    other_size_ = size;
  }

  void decode() {
    const auto total = static_cast<std::int64_t>(files_.size());
    ThreadPool pool(options_.threads > 0 ? options_.threads : physical_cores());
    std::int64_t done = 0;
    constexpr std::int64_t kBlock = 64;
    pool.run(ceil_div(total, kBlock), [&](std::int64_t block) {
      const std::int64_t end = std::min(total, (block + 1) * kBlock);
      for (std::int64_t i = block * kBlock; i < end; ++i) {
        const auto file = static_cast<std::size_t>(i);
        // What comes behind an image of another size is of no use; those before it may have one
        // too.
        if (file < first_of_other_size_) decode_to_place(file);
      }
      const std::lock_guard lock(mutex_);
      done += end - block * kBlock;
      if (options_.progress) options_.progress(done, total);
    });
  }

  void report_other_size() const {
    if (first_of_other_size_ == files_.size()) return;
    const auto first = std::ranges::find(errors_, std::string()) - errors_.begin();
    fail<DataError>("images have several sizes: '{}' is {}x{}, '{}' is {}x{}; {}",
                    tree_.text(files_[static_cast<std::size_t>(first)]),
                    out_.width,
                    out_.height,
                    tree_.text(files_[first_of_other_size_]),
                    other_size_.width,
                    other_size_.height,
                    kGiveSize);
  }

  void report_bad() const {
    std::vector<std::string> bad;
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (!errors_[i].empty())
        bad.push_back(fmt::format("\n  {}: {}", tree_.text(files_[i]), errors_[i]));
    if (bad.empty()) return;
    const double share = static_cast<double>(bad.size()) / static_cast<double>(files_.size());
    if (share > options_.max_bad) {
      const std::size_t count = bad.size();
      if (count > kListed) {
        bad.resize(kListed);
        bad.push_back(fmt::format("\n  and {} more", count - kListed));
      }
      fail<DataError>(
          "{} of {} files in '{}' cannot be decoded: repair or remove them, or have them skipped "
          "with ':max_bad=SHARE' behind the path, a share of {:.4f} or more:{}",
          count,
          files_.size(),
          tree_.text(folder_),
          std::ceil(share * 1e4) / 1e4,
          join(bad, ""));
    }
    log::warn("[data] skipped {} of {} files in '{}' that cannot be decoded:{}",
              bad.size(),
              files_.size(),
              tree_.text(folder_),
              join(bad, ""));
  }

  void drop_bad() {
    const std::set<std::int64_t> wanted(out_.labels.begin(), out_.labels.end());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!errors_[i].empty()) continue;
      if (i != kept) {
        std::copy_n(out_.pixels.begin() + offset(i),
                    out_.image_bytes(),
                    out_.pixels.begin() + offset(kept));
        out_.labels[kept] = out_.labels[i];
      }
      out_.files.push_back(tree_.text(files_[i]));
      ++kept;
    }
    out_.labels.resize(kept);
    out_.pixels.resize(static_cast<std::size_t>(offset(kept)));
    const std::vector<std::int64_t> counts = class_counts(out_);
    for (std::size_t label = 0; label < counts.size(); ++label)
      if (counts[label] == 0 && wanted.contains(static_cast<std::int64_t>(label)))
        fail<DataError>("no file of class '{}' in '{}' can be decoded",
                        out_.classes[label],
                        tree_.text(folder_));
  }

  /// Where the pixels of file `i` begin.
  [[nodiscard]] std::ptrdiff_t offset(std::size_t i) const {
    return static_cast<std::ptrdiff_t>(i) * out_.image_bytes();
  }

  const FileTree& tree_;
  fs::path folder_;
  const FolderOptions& options_;
  std::vector<fs::path> files_;
  ImageSize size_;  ///< that all are to have
  std::atomic<std::int64_t> scaled_ = 0;
  std::vector<std::string> errors_;  ///< of the files that cannot be decoded
  std::mutex mutex_;
  std::atomic<std::size_t> first_of_other_size_ = 0;
  ImageSize other_size_;
  Dataset out_;
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
      "'{}' has a folder '{}' but none of valid, val, test beside it: add one, or have a share of "
      "the training images split off with --val-split SHARE",
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
    fail<DataError>("training images are {}x{}, validation images {}x{}; {}",
                    pair.train.width,
                    pair.train.height,
                    pair.valid.width,
                    pair.valid.height,
                    kGiveSize);
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
