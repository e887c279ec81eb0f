#include "data/loader.h"

#include "framework/backend/cast.h"
#include "framework/core/random.h"
#include "framework/tensor/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;
using namespace learn::data;

namespace {

Dataset pictures() {
  Dataset data{.name = "pictures", .height = 8, .width = 6, .classes = {"a", "b", "c"}};
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
  const Comparison x = same_bits(backend::to_host(ctx, device.x), host.x);
  CHECK_MESSAGE(x.equal, x.text);
  const Comparison y = same_bits(backend::to_host(ctx, device.y), host.y);
  CHECK_MESSAGE(y.equal, y.text);
}

}  // namespace

TEST_CASE("a loader on a device gives the batches of the host, resident or uploaded") {
  const Dataset data = pictures();
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

TEST_CASE("a resident pass that was saved in the middle goes on where it was") {
  const Dataset data = pictures();
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
  test::MemoryState state;
  test::Save save(cuda, state);
  saved.visit_state(save);
  test::Load load(cuda, state);
  resumed.visit_state(load);
  resumed.begin(5);
  for (Batch expected; host.next(expected);) {
    Batch got;
    REQUIRE(resumed.next(got));
    check_same(cuda, got, expected);
  }
  CHECK(!resumed.next(batch));
}
