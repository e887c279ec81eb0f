#include "data/decode_files.h"

#include "data/image_codec.h"
#include "data/resize.h"
#include "data/streamed_files.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/processors.h"
#include "framework/core/round_up.h"
#include "framework/core/thread_pool.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListed = 10;  // paths that an error text shows

ImageSize dimensions_of(const Image& image) { return {image.height, image.width}; }

void check(const DecodeFilesOptions& options) {
  if (options.size && (options.size->height < 1 || options.size->width < 1))
    fail<UsageError>("image size {}x{}: each side must be at least 1",
                     options.size->width,
                     options.size->height);
  if (options.channels != 1 && options.channels != 3)
    fail<UsageError>("channels={}: images are read in grey, 1, or in colour, 3", options.channels);
  if (!(options.max_bad >= 0 && options.max_bad <= 1))
    fail<UsageError>("the share of bad files must lie in [0, 1], not {}", options.max_bad);
}

class Decoder {
 public:
  Decoder(const FileTree& tree,
          const std::string& where,
          const std::vector<fs::path>& files,
          Dataset labelled,
          const DecodeFilesOptions& options)
      : tree_(tree), where_(where), files_(files), options_(options), out_(std::move(labelled)) {
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
                      where_,
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
    std::vector<SkippedFile> bad;
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (!errors_[i].empty()) bad.push_back({tree_.text(files_[i]), errors_[i]});
    if (bad.empty()) return;
    const auto list = [&](std::size_t most) {
      std::string text;
      for (std::size_t i = 0; i < std::min(most, bad.size()); ++i)
        text += fmt::format("\n  {}: {}", bad[i].file, bad[i].why);
      if (bad.size() > most) text += fmt::format("\n  and {} more", bad.size() - most);
      return text;
    };
    const double share = static_cast<double>(bad.size()) / static_cast<double>(files_.size());
    if (share > options_.max_bad)
      fail<DataError>(
          "{} of {} files in '{}' cannot be decoded: repair or remove them, or have them skipped "
          "with ':max_bad=SHARE' behind the path, a share of {:.4f} or more, or all of them with "
          "':skip_bad=true':{}",
          bad.size(),
          files_.size(),
          where_,
          std::ceil(share * 1e4) / 1e4,
          list(kListed));
    log::warn("[data] skipped {} of {} files in '{}' that cannot be decoded:{}",
              bad.size(),
              files_.size(),
              where_,
              list(bad.size()));
    if (options_.skipped != nullptr)
      options_.skipped->insert(options_.skipped->end(), bad.begin(), bad.end());
  }

  void drop_bad() {
    const std::set<std::int64_t> wanted(out_.labels.begin(), out_.labels.end());
    const bool by_class = out_.target_kind == TargetKind::classes;
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
    if (kept == 0)
      fail<DataError>("none of the {} files in '{}' can be decoded", files_.size(), where_);
    if (!by_class) return;
    const std::vector<std::int64_t> counts = class_counts(out_);
    for (std::size_t label = 0; label < counts.size(); ++label)
      if (counts[label] == 0 && wanted.contains(static_cast<std::int64_t>(label)))
        fail<DataError>(
            "no file of class '{}' in '{}' can be decoded", out_.classes[label], where_);
  }

  /// Where the pixels of file `i` begin.
  [[nodiscard]] std::ptrdiff_t offset(std::size_t i) const {
    return static_cast<std::ptrdiff_t>(i) * out_.image_bytes();
  }

  const FileTree& tree_;
  const std::string& where_;
  const std::vector<fs::path>& files_;
  const DecodeFilesOptions& options_;
  ImageSize size_;  ///< that all are to have
  std::atomic<std::int64_t> scaled_ = 0;
  std::vector<std::string> errors_;  ///< of the files that cannot be decoded
  std::mutex mutex_;
  std::atomic<std::size_t> first_of_other_size_ = 0;
  ImageSize other_size_;
  Dataset out_;
};

Dataset streamed(const FileTree& tree,
                 const std::string& where,
                 const std::vector<fs::path>& paths,
                 Dataset labelled,
                 const DecodeFilesOptions& options) {
  std::vector<ImageFile> files;
  for (const fs::path& path : paths)
    files.push_back({tree.text(path), path, tree.shared_from_this(), {}});
  return stream_files(std::move(labelled),
                      std::move(files),
                      where,
                      {.size = options.size.value_or(ImageSize{}),
                       .channels = options.channels,
                       .cache_bytes = options.cache_bytes,
                       .max_bad = options.max_bad,
                       .threads = options.threads,
                       .progress = options.progress,
                       .skipped = options.skipped});
}

}  // namespace

Dataset decode_files(const FileTree& tree,
                     const std::string& where,
                     const std::vector<fs::path>& files,
                     Dataset labelled,
                     const DecodeFilesOptions& options) {
  check(options);
  if (options.stream) return streamed(tree, where, files, std::move(labelled), options);
  return Decoder(tree, where, files, std::move(labelled), options).decoded();
}

}  // namespace learn::data
