#include "data/files/streamed_files.h"

#include "data/files/bad_files.h"
#include "data/files/image_cache.h"
#include "data/files/in_parallel.h"
#include "data/images/image.h"
#include "data/images/resize.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
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
  FileSource(std::vector<ImageFile> files, const DecodeFilesOptions& options)
      : files_(std::move(files)),
        size_(*options.size),
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
          "'{}' cannot be decoded: {}; repair or remove it, or append ':max_bad=SHARE' to the path "
          "to find and skip damaged files in advance",
          files_[static_cast<std::size_t>(place)].name,
          error.what());
    }
  }

  [[nodiscard]] Image decode(std::int64_t place) const override {
    return files_[static_cast<std::size_t>(place)].read(channels_);
  }

  /// Returns why the image cannot be decoded; empty if it can.
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
    return fmt::format("{} {}", file.path, bytes_of(file));
  }

  [[nodiscard]] const std::string& name(std::int64_t place) const {
    return files_[static_cast<std::size_t>(place)].name;
  }

 private:
  std::vector<ImageFile> files_;
  ImageSize size_;
  std::int64_t channels_;
  mutable ImageCache cache_;  // holds the results of `decode`
};

/// Returns for each file why it cannot be decoded.
std::vector<std::string> problems_of(const FileSource& source,
                                     std::int64_t count,
                                     const DecodeFilesOptions& options) {
  std::vector<std::string> problems(static_cast<std::size_t>(count));
  in_parallel(count, options.threads, options.progress, [&](std::int64_t i) {
    problems[static_cast<std::size_t>(i)] = source.problem(i);
  });
  return problems;
}

/// Returns the positions of the files that can be decoded, if there are enough.
std::vector<std::int64_t> sound_files(const FileSource& source,
                                      std::int64_t count,
                                      const std::string& where,
                                      const DecodeFilesOptions& options) {
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

void check(const DecodeFilesOptions& options, std::size_t files, const Dataset& labelled) {
  check_decoding(options);
  if (!options.size)
    fail<UsageError>(
        "streamed images need one size: --image-size N, or append ':size=N' to the path");
  if (static_cast<std::int64_t>(files) != labelled.size())
    fail<UsageError>("'{}' has {} labels for {} files: each file needs one",
                     labelled.name,
                     labelled.size(),
                     files);
}

}  // namespace

Dataset stream_files(Dataset labelled,
                     std::vector<ImageFile> files,
                     const std::string& where,
                     const DecodeFilesOptions& options) {
  check(options, files.size(), labelled);
  labelled.height = options.size->height;
  labelled.width = options.size->width;
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
  if (labelled.target_kind == TargetKind::classes)
    check_classes_left(class_counts(labelled), sound, where);
  return sound;
}

}  // namespace learn::data
