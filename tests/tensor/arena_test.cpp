#include "framework/tensor/arena.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace learn;

TEST_CASE("the same requests get the same addresses again") {
  Arena arena("test", cpu_pages());
  const auto round = [&] {
    std::vector<Storage> held;
    std::vector<std::byte*> at;
    for (const std::size_t bytes : {100U, 5000U, 1U, 0U, 70000U}) {
      held.push_back(arena.allocate(bytes));
      at.push_back(held.back().data());
      if (held.size() == 3) held.erase(held.begin());
    }
    return at;
  };
  const auto first = round();
  CHECK(arena.stats().used == 0);
  CHECK(first == round());
}

TEST_CASE("blocks are aligned and freed neighbours merge") {
  Arena arena("test", cpu_pages());
  {
    auto a = arena.allocate(1 << 20);
    auto b = arena.allocate(1 << 20);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % Arena::kAlignment == 0);
  }
  const auto reserved = arena.stats().reserved;
  const auto all = arena.allocate(reserved);
  CHECK(arena.stats().reserved == reserved);
}

TEST_CASE("a frozen arena serves what it has and refuses to grow") {
  Arena arena("test", cpu_pages());
  { auto warm = arena.allocate(1000); }
  arena.freeze();
  CHECK_NOTHROW((void)arena.allocate(500));
  CHECK_THROWS_WITH_AS(
      (void)arena.allocate(std::size_t{1} << 30U), doctest::Contains("frozen"), Error);
  arena.thaw();
  CHECK_NOTHROW((void)arena.allocate(std::size_t{100} << 20U));
}

TEST_CASE("poison fills new blocks with NaN") {
  Arena arena("test", cpu_pages(), {.guard = true, .poison = true});
  const auto block = arena.allocate(64);
  const auto* floats = reinterpret_cast<const float*>(block.data());
  for (int i = 0; i < 16; ++i) CHECK(floats[i] != floats[i]);
}

TEST_CASE("checks that write to memory are for the CPU, and not for blocks of their own") {
  struct DevicePages final : PageSource {
    void* allocate(std::size_t) override { return nullptr; }
    void release(void*, std::size_t) noexcept override {}
    [[nodiscard]] Device device() const noexcept override { return Device::cuda(1); }
  };
  for (const ArenaOptions& options : {ArenaOptions{.guard = true}, ArenaOptions{.poison = true}}) {
    CHECK_THROWS_WITH_AS(Arena("a", std::make_unique<DevicePages>(), options),
                         doctest::Contains("on cuda:1"),
                         UsageError);
    ArenaOptions exact = options;
    exact.exact = true;
    CHECK_THROWS_WITH_AS(
        Arena("a", cpu_pages(), exact), doctest::Contains("goes with neither"), UsageError);
  }
  CHECK_NOTHROW(Arena("a", std::make_unique<DevicePages>(), {.exact = true}));
}

TEST_CASE("a block outlives its arena") {
  Storage kept;
  {
    Arena arena("test", cpu_pages());
    kept = arena.allocate(10);
  }
  kept.data()[9] = std::byte{1};
  CHECK(kept.data()[9] == std::byte{1});
}
