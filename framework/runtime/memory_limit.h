#pragma once
#include "framework/tensor/arena.h"

#include <cstddef>
#include <memory>
#include <string_view>

namespace learn {

/// The bytes that LEARN_MEM_LIMIT allows each context to reserve for its tensors, "200M" or "1.5G"
/// (powers of 1024); 0 if it is not set or empty: no limit. Throws UsageError for anything else.
[[nodiscard]] std::size_t memory_limit();
/// Returns the number of bytes of a text such as "200M". Throws UsageError unless it is above 0.
[[nodiscard]] std::size_t parse_bytes(std::string_view text);

/// Bytes that several arenas may reserve together. Shared with their pages, which may outlive the
/// context.
class MemoryBudget;
[[nodiscard]] std::shared_ptr<MemoryBudget> make_memory_budget(std::size_t bytes);
/// Wraps pages to throw OutOfMemoryError if they would exceed the budget.
[[nodiscard]] std::unique_ptr<PageSource> limited(std::unique_ptr<PageSource> pages,
                                                  std::shared_ptr<MemoryBudget> budget);

}  // namespace learn
