#include "data/streamed_files.h"

#include "data/bad_files.h"
#include "data/image_cache.h"
#include "data/image_source.h"
#include "data/resize.h"
#include "framework/core/error.h"
#include "framework/core/processors.h"
#include "framework/core/round_up.h"
#include "framework/core/thread_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace learn::data {
namespace {

std::uintmax_t bytes_of(const ImageFile& file) {
  if (file.tree != nullptr) return file.tree->bytes(file.path);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file.path, error);
  return error ? 0 : size;
}

class FileSource final : public ImageSource {
 public:
  FileSource(std::vector<ImageFile> files, const StreamOptions& options)
      : files_(std::move(files)),
        size_(options.size),
        channels_(options.channels),
        cache_(static_cast<std::int64_t>(files_.size()),
               size_.height * size_.width * channels_,
               options.cache_bytes) {}

  void read(std::int64_t place, std::vector<std::uint8_t>& pixels) const override {
    if (cache_.get(place, pixels)) return;
    pixels = resize_and_crop(whole(place), size_.height, size_.width).pixels;
    cache_.put(place, pixels);
  }

  [[nodiscard]] Image whole(std::int64_t place) const override {
    try {
      return decode(place);
    } catch (const DataError& error) {
      fail<DataError>(
          "'{}' cannot be decoded: {}; repair or remove it, or have damaged files looked "
          "for beforehand and skipped with ':max_bad=SHARE' behind the path",
          files_[static_cast<std::size_t>(place)].name,
          error.what());
    }
  }

  [[nodiscard]] Image decode(std::int64_t place) const override {
    return files_[static_cast<std::size_t>(place)].read(channels_);
  }

  /// Why it cannot be decoded; empty if it can.
  [[nodiscard]] std::string problem(std::int64_t place) const {
    try {
      (void)decode(place);
      return {};
    } catch (const DataError& error) {
      return error.what();
    }
  }

  [[nodiscard]] std::string identity(std::int64_t place) const override {
    const ImageFile& file = files_[static_cast<std::size_t>(place)];
    return fmt::format("{} {}", file.path.string(), bytes_of(file));
  }

  [[nodiscard]] const std::string& name(std::int64_t place) const {
    return files_[static_cast<std::size_t>(place)].name;
  }

 private:
  std::vector<ImageFile> files_;
  ImageSize size_;
  std::int64_t channels_;
  mutable ImageCache cache_;  // holds what `decode` would give
};

/// Of all files, why each cannot be decoded.
std::vector<std::string> problems_of(const FileSource& source,
                                     std::int64_t count,
                                     const StreamOptions& options) {
  std::vector<std::string> problems(static_cast<std::size_t>(count));
  ThreadPool pool(options.threads > 0 ? options.threads : physical_cores());
  std::mutex mutex;
  std::int64_t done = 0;
  constexpr std::int64_t kBlock = 64;
  pool.run(ceil_div(count, kBlock), [&](std::int64_t block) {
    const std::int64_t end = std::min(count, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i)
      problems[static_cast<std::size_t>(i)] = source.problem(i);
    const std::lock_guard lock(mutex);
    done += end - block * kBlock;
    if (options.progress) options.progress(done, count);
  });
  return problems;
}

/// The positions of the files that can be decoded, if enough can.
std::vector<std::int64_t> sound_files(const FileSource& source,
                                      std::int64_t count,
                                      const std::string& where,
                                      const StreamOptions& options) {
  const std::vector<std::string> problems = problems_of(source, count, options);
  std::vector<std::int64_t> sound;
  std::vector<SkippedFile> bad;
  for (std::int64_t i = 0; i < count; ++i)
    if (const std::string& why = problems[static_cast<std::size_t>(i)]; why.empty())
      sound.push_back(i);
    else
      bad.push_back({source.name(i), why});
  skip_bad_files(bad, problems.size(), where, options.max_bad, options.skipped);
  return sound;
}

void check(const StreamOptions& options, std::size_t files, const Dataset& labelled) {
  if (options.size.height < 1 || options.size.width < 1)
    fail<UsageError>(
        "images that stay in their files need one size to be scaled to: --image-size "
        "N, or ':size=N' behind the path");
  if (!(options.max_bad >= 0 && options.max_bad <= 1))
    fail<UsageError>("the share of bad files must lie in [0, 1], not {}", options.max_bad);
  if (static_cast<std::int64_t>(files) != labelled.size())
    fail<UsageError>("{} files for {} labels of '{}'", files, labelled.size(), labelled.name);
}

}  // namespace

Dataset stream_files(Dataset labelled,
                     std::vector<ImageFile> files,
                     const std::string& where,
                     const StreamOptions& options) {
  check(options, files.size(), labelled);
  labelled.height = options.size.height;
  labelled.width = options.size.width;
  labelled.channels = options.channels;
  labelled.files.clear();
  for (const ImageFile& file : files) labelled.files.push_back(file.name);
  const auto count = static_cast<std::int64_t>(files.size());
  labelled.places.resize(files.size());
  std::iota(labelled.places.begin(), labelled.places.end(), 0);
  const auto source = std::make_shared<const FileSource>(std::move(files), options);
  labelled.source = source;
  if (options.max_bad == 0) return labelled;
  Dataset sound = subset(labelled, sound_files(*source, count, where, options));
  if (labelled.target_kind != TargetKind::classes) return sound;
  const std::vector<std::int64_t> before = class_counts(labelled);
  const std::vector<std::int64_t> after = class_counts(sound);
  for (std::size_t c = 0; c < before.size(); ++c)
    if (before[c] > 0 && after[c] == 0)
      fail<DataError>("no file of class '{}' in '{}' can be decoded", sound.classes[c], where);
  return sound;
}

}  // namespace learn::data
