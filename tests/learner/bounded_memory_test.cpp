// A training of any length needs the memory of a short one, and so does its checkpoint.
#include "framework/io/checkpoint.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <filesystem>
#include <vector>

using namespace tiny;

namespace {

std::uintmax_t state_bytes(Training& t) {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  save_state(file, [&](StateVisitor& v) { t.learn.visit_state(v); });
  return std::filesystem::file_size(file);
}

/// Memory that the program has allocated from the C library; empty under a sanitizer, which has its
/// own allocator.
std::size_t allocated_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

TEST_CASE("checkpoints do not grow with the training, nor does memory") {
  Training t(std::vector<std::int64_t>(10, 1), {});
  t.learn.add<Recorder>();
  t.learn.fit(250, 1e-4);
  const std::uintmax_t small = state_bytes(t);
  const std::size_t allocated = allocated_bytes();
  for (int i = 0; i < 4; ++i) {
    t.learn.fit(1250, 1e-4);
    // Tables that are as full as they can be: 2048 records of 104 bytes, 1024 of 64.
    CHECK(state_bytes(t) < 300'000);
  }
  CHECK(small > 82'000);
  CHECK(t.learn.progress().batch_clock == 52'500);
  CHECK(allocated_bytes() < allocated + 300'000);  // the tables grow, see above
}
