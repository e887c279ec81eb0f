#pragma once
#include "framework/core/device.h"

#include <cstddef>
#include <memory>

namespace learn {

class PageSource;

/// A reference-counted block of device memory. The last copy gives it back to where it came from.
/// Copies share the block; a default-made Storage is empty.
class Storage {
 public:
  /// Takes over `data`; `release` is called once, without arguments, when the last copy is
  /// destroyed. `pages`: its source, if the host cannot read it directly; must outlive the block.
  template <class Release>
  Storage(void* data,
          std::size_t bytes,
          Device device,
          Release release,
          const PageSource* pages = nullptr)
      : block_(data, [release = std::move(release)](void*) { release(); }),
        bytes_(bytes),
        device_(device),
        pages_(pages) {}
  Storage() = default;

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(block_.get()); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  /// Copies bytes [offset, offset + bytes) to the host, as all work that was enqueued has left
  /// them: waits for the device. Throws DeviceError if the device failed or cannot be waited for
  /// now.
  void read(void* host, std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }
  /// Whether a copy of this, or a tensor with such a copy, is alive somewhere else.
  [[nodiscard]] bool shared() const noexcept { return block_.use_count() > 1; }

 private:
  std::shared_ptr<void> block_;
  std::size_t bytes_ = 0;
  Device device_;
  const PageSource* pages_ = nullptr;
};

}  // namespace learn
