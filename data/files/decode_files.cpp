#include "data/files/decode_files.h"

#include "data/files/bad_files.h"
#include "data/files/in_parallel.h"
#include "data/files/streamed_files.h"
#include "data/images/image_codec.h"
#include "data/images/resize.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/threads/processors.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

namespace learn::data {
namespace {

ImageSize dimensions_of(const Image& image) { return {image.height, image.width}; }

class Decoder {
 public:
  Decoder(const FileTree& tree,
          const std::string& where,
          Dataset labelled,
          const DecodeFilesOptions& options)
      : tree_(tree),
        where_(where),
        files_(std::exchange(labelled.files, {})),
        options_(options),
        out_(std::move(labelled)) {
    out_.channels = options.channels;
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
    if (options_.say_scaled && scaled_ > 0)
      log::info("[data] scaled {} of {} images of '{}' to the model's input, {}x{}",
                scaled_.load(),
                out_.size(),
                where_,
                out_.width,
                out_.height);
    return std::move(out_);
  }

 private:
  [[nodiscard]] Image decoded_file(std::size_t i) const {
    return decode_image(tree_.read(files_[i]), {.channels = options_.channels});
  }

  /// Uses the first image's size, unless a size was given.
  void choose_size() {
    size_ = options_.size.value_or(ImageSize{});
    for (std::size_t i = 0; i < files_.size() && size_ == ImageSize{}; ++i) {
      try {
        size_ = dimensions_of(decoded_file(i));
      } catch (const DataError&) {  // `decode` fails on it again and keeps the error
      }
    }
    out_.height = size_.height;
    out_.width = size_.width;
  }

  /// Checks the memory that the images need. A few bytes can claim many pixels, so no memory is
  /// reserved before the size is checked.
  void check_memory() {
    constexpr std::uintmax_t kFree = 1ULL << 30U;
    constexpr std::uintmax_t kGrowth = 100;
    const auto needed = static_cast<std::uintmax_t>(out_.image_bytes()) * files_.size();
    const auto refuse = [&](std::string_view why) {
      fail<DataError>("{} images of {}x{} in '{}' need {} MiB of memory, {}: {}",
                      files_.size(),
                      out_.width,
                      out_.height,
                      where_,
                      needed >> 20U,
                      why,
                      kGiveSize);
    };
    if (!options_.size && needed > kFree) {
      std::uintmax_t bytes = 0;
      for (const std::string& file : files_) bytes += tree_.bytes(file);
      if ((needed - kFree) / kGrowth > bytes)
        refuse("more than photographs of that file size need");
    }
    const std::uintmax_t memory = physical_memory();
    if (needed > memory) refuse(fmt::format("the machine has {}", memory >> 20U));
    try {
      out_.pixels.resize(needed);
    } catch (const std::bad_alloc&) {
      refuse("more than is available");
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
    in_parallel(total, options_.threads, options_.progress, [&](std::int64_t i) {
      const auto file = static_cast<std::size_t>(i);
      // Images after one of another size are useless, but earlier ones may have another size, too.
      if (file < first_of_other_size_) decode_to_place(file);
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
    std::vector<SkippedFile> bad;
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (!errors_[i].empty()) bad.push_back({tree_.text(files_[i]), errors_[i]});
    skip_bad_files(bad, files_.size(), where_, options_.max_bad, options_.skipped);
  }

  void drop_bad() {
    const bool by_class = out_.target_kind == TargetKind::classes;
    std::vector<std::int64_t> before;
    if (by_class) before = class_counts(out_);
    const std::size_t each = by_class ? 0 : out_.classes.size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!errors_[i].empty()) continue;
      if (i != kept) {
        std::copy_n(out_.pixels.begin() + offset(i),
                    out_.image_bytes(),
                    out_.pixels.begin() + offset(kept));
        if (by_class) out_.labels[kept] = out_.labels[i];
        std::copy_n(out_.targets.begin() + static_cast<std::ptrdiff_t>(i * each),
                    each,
                    out_.targets.begin() + static_cast<std::ptrdiff_t>(kept * each));
      }
      out_.files.push_back(tree_.text(files_[i]));
      ++kept;
    }
    if (by_class) out_.labels.resize(kept);
    out_.targets.resize(kept * each);
    out_.pixels.resize(static_cast<std::size_t>(offset(kept)));
    if (by_class) check_classes_left(before, out_, where_);
  }

  /// Returns where the pixels of file `i` start.
  [[nodiscard]] std::ptrdiff_t offset(std::size_t i) const {
    return static_cast<std::ptrdiff_t>(i) * out_.image_bytes();
  }

  const FileTree& tree_;
  const std::string& where_;
  const std::vector<std::string> files_;
  const DecodeFilesOptions& options_;
  ImageSize size_;  ///< required size of all images
  std::atomic<std::int64_t> scaled_ = 0;
  std::vector<std::string> errors_;  ///< of the files that cannot be decoded
  std::mutex mutex_;
  std::atomic<std::size_t> first_of_other_size_ = 0;
  ImageSize other_size_;
  Dataset out_;
};

Dataset streamed(const FileTree& tree,
                 const std::string& where,
                 Dataset labelled,
                 const DecodeFilesOptions& options) {
  std::vector<ImageFile> files;
  files.reserve(labelled.files.size());
  for (std::string& path : labelled.files)
    files.push_back({tree.text(path), std::move(path), tree.shared_from_this(), {}});
  return stream_files(std::move(labelled), std::move(files), where, options);
}

}  // namespace

void check_decoding(const DecodeFilesOptions& options) {
  if (options.size && (options.size->height < 1 || options.size->width < 1))
    fail<UsageError>("image size {}x{}: each side must be at least 1",
                     options.size->width,
                     options.size->height);
  if (options.channels != 1 && options.channels != 3)
    fail<UsageError>("channels={}: must be 1 (grey) or 3 (colour)", options.channels);
  if (!(options.max_bad >= 0 && options.max_bad <= 1))
    fail<UsageError>("the share of bad files must be in [0, 1], not {}", options.max_bad);
}

Dataset decode_files(const FileTree& tree,
                     const std::string& where,
                     Dataset labelled,
                     const DecodeFilesOptions& options) {
  if (options.stream) return streamed(tree, where, std::move(labelled), options);
  check_decoding(options);
  return Decoder(tree, where, std::move(labelled), options).decoded();
}

void check_same_size(const DataPair& pair, const std::string& before) {
  if (pair.valid.height != pair.train.height || pair.valid.width != pair.train.width)
    fail<DataError>("{}training images are {}x{}, validation images {}x{}; {}",
                    before,
                    pair.train.width,
                    pair.train.height,
                    pair.valid.width,
                    pair.valid.height,
                    kGiveSize);
}

}  // namespace learn::data
