#include "framework/runtime/memory_limit.h"

#include "framework/core/environment.h"
#include "framework/core/error.h"

#include <charconv>
#include <cmath>
#include <mutex>
#include <utility>

namespace learn {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : bytes_(bytes) {}

  void take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > bytes_ - used_)
      fail<OutOfMemoryError>(
          "cannot reserve {} MiB: {} MiB of the {} MiB that LEARN_MEM_LIMIT allows are in use",
          bytes >> 20U,
          used_ >> 20U,
          bytes_ >> 20U);
    used_ += bytes;
  }
  void give_back(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }

 private:
  std::mutex mutex_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

namespace {

class LimitedPages final : public PageSource {
 public:
  LimitedPages(std::unique_ptr<PageSource> pages, std::shared_ptr<MemoryBudget> budget)
      : pages_(std::move(pages)), budget_(std::move(budget)) {}

  void* allocate(std::size_t bytes) override {
    budget_->take(bytes);
    try {
      return pages_->allocate(bytes);
    } catch (...) {
      budget_->give_back(bytes);
      throw;
    }
  }
  void release(void* slab, std::size_t bytes) noexcept override {
    pages_->release(slab, bytes);
    budget_->give_back(bytes);
  }
  void read(void* host, const void* memory, std::size_t bytes) const override {
    pages_->read(host, memory, bytes);
  }
  Device device() const noexcept override { return pages_->device(); }

 private:
  std::unique_ptr<PageSource> pages_;
  std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace

std::size_t parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr double kMost = 0x1p60;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!unit.empty() && kUnits.find(unit.front()) != kUnits.npos) {
    number *= std::pow(1024, 1 + static_cast<double>(kUnits.find(unit.front())));
    unit.remove_prefix(1);
  }
  if (error != std::errc() || !unit.empty() || !(number >= 1 && number <= kMost))
    fail<UsageError>(
        "'{}' is not a size: expected a number of bytes, or one with K, M, G or T: 200M", text);
  return static_cast<std::size_t>(number);
}

std::size_t memory_limit() {
  const char* const text = environment("LEARN_MEM_LIMIT");
  if (text == nullptr) return 0;
  try {
    return parse_bytes(text);
  } catch (const UsageError& e) {
    fail<UsageError>("LEARN_MEM_LIMIT: {}", e.what());
  }
}

std::shared_ptr<MemoryBudget> make_memory_budget(std::size_t bytes) {
  return std::make_shared<MemoryBudget>(bytes);
}

std::unique_ptr<PageSource> limited(std::unique_ptr<PageSource> pages,
                                    std::shared_ptr<MemoryBudget> budget) {
  return std::make_unique<LimitedPages>(std::move(pages), std::move(budget));
}

}  // namespace learn
