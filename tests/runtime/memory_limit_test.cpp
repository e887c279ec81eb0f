#include "framework/runtime/memory_limit.h"

#include "framework/runtime/context.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

using namespace learn;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// An environment variable, for as long as this lives.
class Environment {
 public:
  explicit Environment(const char* value) { ::setenv("LEARN_MEM_LIMIT", value, 1); }
  ~Environment() { ::unsetenv("LEARN_MEM_LIMIT"); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

std::string refusal(Context& ctx, std::size_t bytes) {
  try {
    const Storage block = ctx.step().allocate(bytes);
  } catch (const OutOfMemoryError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("all arenas of a context share its memory limit, and freed memory can be used again") {
  Context ctx({.device = Device::cpu(), .threads = 1, .memory_limit = 10 * kMiB});
  const Storage kept = ctx.persistent().allocate(4 * kMiB);
  {
    const auto other = ctx.make_step_arena("other");
    const Storage block = other->allocate(4 * kMiB);
    CHECK(refusal(ctx, 3 * kMiB) ==
          "cannot reserve 4 MiB: 8 MiB of the 10 MiB that LEARN_MEM_LIMIT allows are in use");
  }
  CHECK(refusal(ctx, 3 * kMiB).empty());
}

TEST_CASE("a failed allocation is not counted") {
  // A system that has no memory at first. Sizes are multiples of a slab, 2 MiB.
  class Pages final : public PageSource {
   public:
    explicit Pages(const bool& full) : full_(full) {}
    void* allocate(std::size_t bytes) override {
      if (full_) throw OutOfMemoryError("the system has none");
      return pages_->allocate(bytes);
    }
    void release(void* slab, std::size_t bytes) noexcept override { pages_->release(slab, bytes); }
    void read(void* host, const void* memory, std::size_t bytes) const override {
      pages_->read(host, memory, bytes);
    }
    Device device() const noexcept override { return pages_->device(); }

   private:
    const bool& full_;
    std::unique_ptr<PageSource> pages_ = cpu_pages();
  };
  bool full = true;
  const auto budget = make_memory_budget(8 * kMiB);
  const auto pages = limited(std::make_unique<Pages>(full), budget);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS((void)pages->allocate(4 * kMiB), OutOfMemoryError);
  full = false;
  void* const first = pages->allocate(4 * kMiB);
  CHECK_THROWS_WITH_AS(
      (void)pages->allocate(6 * kMiB),
      "cannot reserve 6 MiB: 4 MiB of the 8 MiB that LEARN_MEM_LIMIT allows are in use",
      OutOfMemoryError);
  void* const second = pages->allocate(4 * kMiB);  // a refusal takes nothing either
  pages->release(first, 4 * kMiB);
  pages->release(second, 4 * kMiB);
  pages->release(pages->allocate(8 * kMiB), 8 * kMiB);
}

TEST_CASE("blocks that outlive their context keep the limit's account") {
  Storage block;
  {
    Context ctx({.device = Device::cpu(), .threads = 1, .memory_limit = 4 * kMiB});
    block = ctx.persistent().allocate(2 * kMiB);
  }
  CHECK(block.data() != nullptr);
}

TEST_CASE("the limit comes from the environment unless the program sets one") {
  const Environment limit("3M");
  Context limited({.device = Device::cpu(), .threads = 1});
  CHECK(refusal(limited, 4 * kMiB).find("0 MiB of the 3 MiB") != std::string::npos);
  Context unlimited({.device = Device::cpu(), .threads = 1, .memory_limit = 0});
  CHECK(refusal(unlimited, 4 * kMiB).empty());
}

TEST_CASE("a limit that is not a size is refused") {
  CHECK(memory_limit() == 0);
  {
    const Environment empty("");
    CHECK(memory_limit() == 0);
  }
  const Environment wrong("a lot");
  CHECK_THROWS_WITH_AS((void)Context({.device = Device::cpu(), .threads = 1}),
                       "LEARN_MEM_LIMIT: 'a lot' is not a size: expected a number of bytes, or one "
                       "with K, M, G or T: 200M",
                       UsageError);
}

TEST_CASE("sizes are bytes, or K, M, G or T of them") {
  CHECK(parse_bytes("1") == 1);
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("3K") == 3072);
  CHECK(parse_bytes("200M") == 200 * kMiB);
  CHECK(parse_bytes("1.5G") == 1536 * kMiB);
  CHECK(parse_bytes("1T") == kMiB * kMiB);
  for (const char* const wrong :
       {"", "M", "0", "0.5", "-1", "200MB", "200 M", "m", "5k", "nan", "inf", "1e99", "0x10"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS((void)parse_bytes(wrong), UsageError);
  }
}
