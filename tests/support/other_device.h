#pragma once
#include "framework/tensor/arena.h"
#include "framework/tensor/tensor.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

/// Memory that says it is on cuda:1, where no test computes: for what must refuse it unread.
namespace learn::test {

inline Tensor on_other_device(const Shape& shape, DType dtype = DType::f32) {
  const auto memory = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(shape.elements()) * size_of(dtype));
  return {Storage(memory->data(), memory->size(), Device::cuda(1), [memory] {}), 0, shape, dtype};
}

inline std::unique_ptr<PageSource> other_device_pages() {
  struct Pages final : PageSource {
    void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
    void release(void* slab, std::size_t /*bytes*/) noexcept override { std::free(slab); }
    [[nodiscard]] Device device() const noexcept override { return Device::cuda(1); }
  };
  return std::make_unique<Pages>();
}

}  // namespace learn::test
