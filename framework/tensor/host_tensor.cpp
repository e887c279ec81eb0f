#include "framework/tensor/host_tensor.h"

#include <cstdlib>

namespace learn {

// Not from an arena: its slab of megabytes would be mapped, zeroed and given back for each.
Tensor host_tensor(const Shape& shape, DType dtype) {
  const std::size_t bytes = bytes_of(shape, dtype);
  const std::size_t room = (bytes / Arena::kAlignment + 1) * Arena::kAlignment;
  void* memory = std::aligned_alloc(Arena::kAlignment, room);
  if (memory == nullptr) fail<OutOfMemoryError>("cannot reserve {} bytes of host memory", bytes);
  return {Storage(memory, bytes, Device::cpu(), [memory] { std::free(memory); }), 0, shape, dtype};
}

}  // namespace learn
