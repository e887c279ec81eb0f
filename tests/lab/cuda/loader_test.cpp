#include "data/loading/loader.h"

#include "data/loading/augmentation.h"
#include "framework/core/random.h"
#include "framework/kernels/cast/fill.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/transfer.h"
#include "framework/runtime/uploads.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/memory_state.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

using namespace learn;
using namespace learn::data;

namespace {

Dataset images() {
  Dataset data{.name = "images", .height = 8, .width = 6, .classes = {"a", "b", "c"}};
  constexpr std::int64_t kSamples = 11;
  for (std::int64_t i = 0; i < kSamples; ++i) data.labels.push_back(i % 3);
  for (std::int64_t i = 0; i < kSamples * data.image_bytes(); ++i)
    data.pixels.push_back(static_cast<std::uint8_t>(
        random4(7, RandomPurpose::test, 0, static_cast<std::uint64_t>(i)).v[0]));
  return data;
}

/// Batches of 4, 4 and 3.
LoaderOptions options_for(DType dtype) {
  return {.batch_size = 4,
          .shuffle = true,
          .dtype = dtype,
          .normalization = kCifarStats,
          .transforms = augmentation("full", 8, 6)};
}

void check_same(Context& ctx, const Batch& device, const Batch& host) {
  CHECK(device.x.device().is_cuda());
  CHECK(device.index == host.index);
  const Comparison x = same_bits(to_host(ctx, device.x), host.x);
  CHECK_MESSAGE(x.equal, x.text);
  const Comparison y = same_bits(to_host(ctx, device.y), host.y);
  CHECK_MESSAGE(y.equal, y.text);
}

}  // namespace

TEST_CASE("a loader on a device gives the batches of the host, resident or uploaded") {
  const Dataset data = images();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool resident : {true, false}) {
      CAPTURE(resident);
      Context cuda(test::on_cuda());
      Context cpu({.threads = 1});
      LoaderOptions options = options_for(dtype);
      Loader host(cpu, data, options);
      options.resident = resident;
      Loader device(cuda, data, options);
      for (const std::int64_t epoch : {0, 1}) {
        host.begin(epoch);
        device.begin(epoch);
        Batch expected;
        Batch got;
        int batches = 0;
        for (; host.next(expected); ++batches) {
          REQUIRE(device.next(got));
          check_same(cuda, got, expected);
        }
        CHECK(batches == 3);
        CHECK(!device.next(got));
      }
    }
}

TEST_CASE("grey images with real targets, drawn by weights, are made on a device as on the host") {
  Dataset data = images();
  data.channels = 1;
  data.height = 24;
  data.labels.clear();
  data.target_kind = TargetKind::values;
  for (int i = 0; i < 33; ++i) data.targets.push_back(static_cast<float>(i));
  Context cuda(test::on_cuda());
  Context cpu({.threads = 1});
  LoaderOptions options = options_for(DType::f16);
  options.normalization = {{0.5F}, {0.25F}};
  options.transforms = augmentation("full", 24, 6);
  options.sampling = WeightedSampling{{1, 1, 0, 9, 0, 0, 0, 0, 0, 0, 1}};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    options.dtype = dtype;
    Loader host(cpu, data, options);
    Loader device(cuda, data, options);
    CHECK(device.on_device());
    host.begin(1);
    device.begin(1);
    Batch expected, got;
    while (host.next(expected)) {
      REQUIRE(device.next(got));
      check_same(cuda, got, expected);
    }
  }
  options.transforms.emplace_back(ValueTransform{[](std::span<float>, RandomWords) {}});
  CHECK(!Loader(cuda, data, options).on_device());
}

TEST_CASE("a resident batch of halves may have the channels that convolutions need") {
  const Dataset data = images();
  Arena memory("colours", cpu_pages());
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Context cuda(test::on_cuda());
    Context cpu({.threads = 1});
    LoaderOptions options = options_for(dtype);
    options.pad_channels = true;
    Loader host(cpu, data, options);
    Loader device(cuda, data, options);
    host.begin(0);
    device.begin(0);
    Batch expected, got;
    REQUIRE(host.next(expected));
    REQUIRE(device.next(got));
    CHECK(expected.padding == 0);
    CHECK(got.padding == (is_half(dtype) ? 5 : 0));
    const Tensor x = to_host(cuda, got.x);
    REQUIRE(x.shape() == Shape{4, 8, 6, 3 + got.padding});
    Tensor colours(memory, expected.x.shape(), dtype);
    const std::int64_t width = x.shape()[3];
    double behind = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i)
      if (i % width < 3)
        set(colours, i / width * 3 + i % width, get(x, i));
      else
        behind += std::fabs(get(x, i));
    CHECK(same_bits(colours, expected.x));
    CHECK(behind == 0);
  }
}

TEST_CASE("a resident pass that was saved in the middle continues where it was") {
  const Dataset data = images();
  Context cuda(test::on_cuda());
  Context cpu({.threads = 1});
  Loader host(cpu, data, options_for(DType::f32));
  Loader saved(cuda, data, options_for(DType::f32));
  Loader resumed(cuda, data, options_for(DType::f32));
  host.begin(5);
  saved.begin(5);
  Batch batch;
  REQUIRE(saved.next(batch));
  REQUIRE(host.next(batch));
  test::load(cuda, test::save(cuda, saved), resumed);
  resumed.begin(5);
  for (Batch expected; host.next(expected);) {
    Batch got;
    REQUIRE(resumed.next(got));
    check_same(cuda, got, expected);
  }
  CHECK(!resumed.next(batch));
}

TEST_CASE("a share of a batch on a device has the rows of the host, resident or uploaded") {
  const Dataset data = images();
  // Batches of 4, 4 and 3: with 5 ranks some have no row.
  for (const int ranks : {1, 2, 3, 5})
    for (const bool resident : {true, false})
      for (int rank = 0; rank < ranks; ++rank) {
        CAPTURE(ranks);
        CAPTURE(resident);
        CAPTURE(rank);
        Context cuda(test::on_cuda());
        Context cpu({.threads = 1});
        LoaderOptions options = options_for(DType::f16);
        Loader host(cpu, data, options);
        options.resident = resident;
        Loader device(cuda, data, options);
        CHECK(device.on_device() == resident);
        for (Loader* loader : {&host, &device}) {
          REQUIRE(loader->set_share({rank, ranks}));
          loader->begin(1);
        }
        Batch expected, got;
        while (host.next(expected)) {
          REQUIRE(device.next(got));
          check_same(cuda, got, expected);
          CHECK(got.whole == expected.whole);
          CHECK(got.first == expected.first);
          CHECK(got.spare == expected.spare);
        }
        CHECK(!device.next(got));
      }
}

TEST_CASE("uploaded batches are complete for pending work") {
  const Dataset data = images();
  for (const int workers : {0, 2}) {
    CAPTURE(workers);
    Context cuda(test::on_cuda());
    Context cpu({.threads = 1});
    LoaderOptions options = options_for(DType::f16);
    options.workers = workers;
    Loader host(cpu, data, options);
    options.resident = false;
    Loader device(cuda, data, options);
    std::vector<Batch> expected, seen;
    const auto copy_of = [](Context& ctx, const Tensor& x) {
      Tensor copied(ctx.persistent(), x.shape(), x.dtype());
      copy(ctx, x, copied);
      return copied;
    };
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      host.begin(epoch);
      device.begin(epoch);
      Batch batch;
      // The second pass is left in the middle.
      for (int i = 0; i < (epoch == 1 ? 2 : 3); ++i) {
        REQUIRE(host.next(batch));
        expected.push_back({copy_of(cpu, batch.x), copy_of(cpu, batch.y), batch.index});
        REQUIRE(device.next(batch));
        seen.push_back({copy_of(cuda, batch.x), copy_of(cuda, batch.y), batch.index});
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CAPTURE(i);
      check_same(cuda, seen[i], expected[i]);
    }
  }
}

TEST_CASE("uploads wait for work on memory that was given back to the arena") {
  const Dataset data = images();
  Context plain({.device = Device::cuda()});  // its arena uses addresses again
  Context cpu({.threads = 1});
  LoaderOptions options = options_for(DType::f32);
  Loader host(cpu, data, options);
  options.resident = false;
  {
    Tensor before = Tensor(plain.persistent(), {1 << 16}, DType::f32);
    kernels::fill(plain, before, 9);  // without waiting for it
  }
  Loader device(plain, data, options);
  host.begin(0);
  device.begin(0);
  Batch expected, got;
  REQUIRE(host.next(expected));
  REQUIRE(device.next(got));
  Tensor seen(plain.persistent(), got.x.shape(), got.x.dtype());
  copy(plain, got.x, seen);
  Batch second;
  REQUIRE(device.next(second));  // by now the first one has travelled
  CHECK(same_bits(to_host(plain, seen), expected.x));
}

namespace {

/// Work that keeps a stream busy until it is let go; ten seconds at most.
struct Busy {
  std::atomic<bool> let_go = false;
  std::atomic<bool> ran_early = false;
  static void run(void* busy) {
    auto& self = *static_cast<Busy*>(busy);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    // The fake runs it in the thread that waits for it, which could not release it.
    while (!self.let_go && !test::interpreted() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    self.ran_early = !self.let_go;
  }
};

}  // namespace

TEST_CASE("an upload is of batches like those it was made for") {
  Context ctx(test::on_cuda());
  const Tensor x = host_tensor({2, 3}, DType::f32);
  const Tensor y = host_tensor({2}, DType::i64);
  Uploads uploads(ctx, x, y);
  CHECK_NOTHROW((void)uploads.bring(x, y, 0));
  CHECK_THROWS_WITH_AS((void)uploads.bring(host_tensor({2, 3}, DType::f16), y, 1),
                       doctest::Contains("an upload of f32 (2,3) was prepared, not of f16 (2,3)"),
                       ShapeError);
}

TEST_CASE("a batch is uploaded while the device is busy with the one before") {
  // Other fakes run what is queued when they like.
  const char* const streams = std::getenv("FAKE_CUDA_STREAMS");
  if (test::interpreted() && (streams == nullptr || std::string_view(streams) != "late")) return;
  const Dataset data = images();
  Context ctx(test::on_cuda());
  LoaderOptions options = options_for(DType::f32);
  options.resident = false;
  Loader loader(ctx, data, options);
  Busy busy;
  loader.begin(0);
  Batch batch;
  REQUIRE(loader.next(batch));
  REQUIRE(cudaLaunchHostFunc(ctx.cuda().compute(), &Busy::run, &busy) == cudaSuccess);
  REQUIRE(loader.next(batch));
  REQUIRE(loader.next(batch));
  CHECK(!loader.next(batch));
  busy.let_go = true;
  ctx.cuda().synchronize();
  CHECK(!busy.ran_early);
}
