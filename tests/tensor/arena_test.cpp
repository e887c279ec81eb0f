#include "framework/tensor/arena.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

using namespace learn;

TEST_CASE("repeated requests get the same addresses again") {
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

TEST_CASE("blocks of slabs that happen to be neighbours do not merge") {
  static constexpr std::size_t kBytes = std::size_t{16} << 20U;
  struct AdjacentPages final : PageSource {
    std::byte* memory = static_cast<std::byte*>(std::aligned_alloc(Arena::kAlignment, kBytes));
    std::size_t given = 0;
    ~AdjacentPages() override { std::free(memory); }
    AdjacentPages() = default;
    AdjacentPages(const AdjacentPages&) = delete;
    AdjacentPages& operator=(const AdjacentPages&) = delete;
    void* allocate(std::size_t bytes) override {
      REQUIRE(given + bytes <= kBytes);
      return memory + std::exchange(given, given + bytes);
    }
    void release(void*, std::size_t) noexcept override {}
    [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }
  };
  constexpr std::size_t kSlab = std::size_t{2} << 20U;
  Arena arena("test", std::make_unique<AdjacentPages>());
  {
    const auto first = arena.allocate(kSlab), second = arena.allocate(kSlab);
    REQUIRE(second.data() == first.data() + kSlab);
  }
  const auto both = arena.allocate(2 * kSlab);
  CHECK(arena.stats().reserved == 4 * kSlab);
}

TEST_CASE("an arena knows what is used, what was at most, and in how many blocks") {
  Arena arena("test", cpu_pages());
  {
    const auto a = arena.allocate(Arena::kAlignment), b = arena.allocate(1);
    CHECK(arena.stats().used == 2 * Arena::kAlignment);
    CHECK(arena.stats().blocks == 2);
  }
  const auto c = arena.allocate(Arena::kAlignment);
  CHECK(arena.stats().used == Arena::kAlignment);
  CHECK(arena.stats().peak == 2 * Arena::kAlignment);
  CHECK(arena.stats().blocks == 1);
}

TEST_CASE("a write outside of a guarded block ends the program") {
  for (const std::ptrdiff_t at : {-1, 10, 5}) {
    CAPTURE(at);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      close(STDOUT_FILENO);
      close(STDERR_FILENO);
      Arena arena("test", cpu_pages(), {.guard = true});
      arena.allocate(10).data()[at] = std::byte{1};
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) == (at != 5));
  }
}

TEST_CASE("a block is read up to its size, and not beyond") {
  Arena arena("test", cpu_pages());
  const auto block = arena.allocate(4);
  for (int i = 0; i < 4; ++i) block.data()[i] = static_cast<std::byte>(i);
  std::array<std::byte, 2> read{};
  block.read(read.data(), 2, 2);
  CHECK(read == std::array{std::byte{2}, std::byte{3}});
  CHECK_THROWS_WITH_AS(
      block.read(read.data(), 3, 2), doctest::Contains("bytes 3 to 5 are outside of 4"), Error);
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

  Arena exact("exact", cpu_pages(), {.exact = true});
  exact.freeze();
  CHECK_THROWS_WITH_AS((void)exact.allocate(1),
                       "arena 'exact' is frozen, and gives each block its own memory",
                       Error);
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program where malloc returns null
TEST_CASE("memory that the machine does not have is an error with the size") {
  Arena arena("test", cpu_pages());
  CHECK_THROWS_WITH_AS((void)arena.allocate(std::size_t{1} << 50U),
                       "cannot reserve 1073741824 MiB of host memory",
                       OutOfMemoryError);
}
#endif

TEST_CASE("poison fills new blocks with NaN") {
  Arena arena("test", cpu_pages(), {.guard = true, .poison = true});
  const auto block = arena.allocate(64);
  const auto* floats = reinterpret_cast<const float*>(block.data());
  for (int i = 0; i < 16; ++i) CHECK(floats[i] != floats[i]);
}

TEST_CASE("checks that write to memory are for the CPU, and not for separate blocks") {
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
    CHECK_THROWS_WITH_AS(Arena("a", cpu_pages(), exact),
                         doctest::Contains("cannot be combined with guard"),
                         UsageError);
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

TEST_CASE("an arena does not overflow when it rounds a size up") {
  Arena arena("test", cpu_pages());
  Arena exact("test", cpu_pages(), {.exact = true});
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 1000, ~std::size_t{0} / 2 + 1})
    for (Arena* const one : {&arena, &exact})
      CHECK_THROWS_WITH_AS((void)one->allocate(bytes),
                           doctest::Contains("arena 'test': cannot reserve"),
                           OutOfMemoryError);
}
