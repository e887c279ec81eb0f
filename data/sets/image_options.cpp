#include "data/sets/image_options.h"

#include "framework/core/error.h"

namespace learn::data {

DecodeFilesOptions ImageOptions::decoding(const DataOptions& options, DataPair& into) const {
  if (!stream && cache != ImageOptions().cache)
    fail<UsageError>("cache={} has no effect without stream=true", cache);
  DecodeFilesOptions decoding{.channels = channels,
                              .max_bad = skip_bad ? 1 : max_bad,
                              .say_scaled = options.evaluation.has_value(),
                              .threads = options.threads,
                              .progress = options.progress,
                              .skipped = &into.skipped,
                              .stream = stream,
                              .cache_bytes = cache << 20U};
  if (options.evaluation)
    decoding.size = options.evaluation;
  else if (size > 0)
    decoding.size = ImageSize{size, size};
  return decoding;
}

void declare_images(OptionTable& t, ImageOptions& o, const char* what) {
  t.text("path", o.path, "PATH", what);
  t.number("size",
           o.size,
           {.low = 0, .high = kImageSide.high},
           "N",
           "resize images to N x N; 0: keep their size");
  t.number("channels", o.channels, {.low = 1, .high = 3}, "1|3", "3: colours; 1: grey");
  t.number("max_bad", o.max_bad, kShare, "SHARE", "largest share of damaged files to skip");
  t.flag("skip_bad", o.skip_bad, "skip damaged files however many there are");
  t.flag("stream", o.stream, "leave images in their files and decode them in each epoch");
  t.number("cache",
           o.cache,
           {.low = 0, .high = 1 << 24},
           "MIB",
           "with stream, memory for decoded images, so that some are decoded once");
}

void refuse_directory(const char* name, const DataOptions& options) {
  if (!options.directory.empty())
    fail<UsageError>("'{1}' has no effect: {0} are not in the folder of published data sets",
                     name,
                     options.directory.string());
}

}  // namespace learn::data
