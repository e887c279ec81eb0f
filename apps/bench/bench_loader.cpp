// Times a loader of images that stay in their files. Prints as JSON, for each pass, images per
// second, milliseconds to the first batch, and a checksum of all batches, which must be the same
// for any number of workers and any cache.
#include "apps/bench/program.h"
#include "data/loading/loader.h"
#include "data/sets/image_folder.h"
#include "framework/core/seconds_since.h"
#include "framework/io/digest.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace learn;

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::filesystem::path data;
  std::int64_t size = 32;
  std::int64_t batch = 256;
  std::int64_t workers = 2;
  std::int64_t passes = 2;
  std::int64_t cache = 0;
  bool stream = true;
  bool checksum = false;
};

std::string time_pass(data::Loader& loader, std::int64_t pass, bool checksum) {
  Digest digest(Digest::Kind::md5);
  const auto start = Clock::now();
  double first = 0;
  std::int64_t images = 0;
  loader.begin(pass);
  for (Batch batch; loader.next(batch); images += batch.size()) {
    if (images == 0) first = seconds_since(start);
    if (!checksum) continue;
    const auto bytes = std::as_bytes(batch.x.span<float>());
    digest.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  return fmt::format(R"({{"images_per_second": {:.1f}, "first_batch_ms": {:.1f}{}}})",
                     static_cast<double>(images) / seconds_since(start),
                     first * 1e3,
                     checksum ? fmt::format(R"(, "md5": "{}")", digest.hex()) : "");
}

int run(const Options& o) {
  const auto start = Clock::now();
  const std::shared_ptr<const data::FileTree> tree = data::open_tree(o.data);
  const data::Dataset set =
      data::evaluation_folder(*tree,
                              {.classes = tree->folders({}),
                               .decoding = {.size = data::ImageSize{o.size, o.size},
                                            .stream = o.stream,
                                            .cache_bytes = o.cache << 20U}});
  const double opened = seconds_since(start);
  Context ctx({.device = Device::cpu(), .threads = 1});
  data::Loader loader(ctx,
                      set,
                      {.batch_size = o.batch,
                       .shuffle = true,
                       .workers = static_cast<int>(o.workers),
                       .normalization = data::kCifarStats});
  std::vector<std::string> passes;
  for (std::int64_t pass = 0; pass < o.passes; ++pass)
    passes.push_back(time_pass(loader, pass, o.checksum));
  fmt::print("{{\"images\": {}, \"opened_s\": {:.2f}, \"passes\": [{}]}}\n",
             set.size(),
             opened,
             join(passes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  OptionTable options;
  options.group("Options");
  options.text("data", o.data, "DIR", "folder of images, one folder per class");
  options.number("size", o.size, {.low = 1, .high = 4096}, "N", "scale to N x N");
  options.number("batch", o.batch, {.low = 1, .high = 65536}, "N", "images per batch");
  options.number("workers", o.workers, {.low = 0, .high = 64}, "N", "threads that prepare batches");
  options.number("passes", o.passes, {.low = 1, .high = 100}, "N", "passes over the images");
  options.number("cache", o.cache, {.low = 0, .high = 1 << 20}, "MIB", "memory for decoded images");
  options.flag("stream", o.stream, "leave images in their files; false: decode all first");
  options.flag("checksum", o.checksum, "of all batches");
  return bench::run_program(argc,
                            argv,
                            "bench_loader",
                            "Measures the speed of loading images that stay in their files",
                            options,
                            [&] { return run(o); });
}
