#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace learn::data {

/// A cache of decoded images of one size, up to a number of bytes. Images are never evicted: a pass
/// visits each image once, so a least-recently-used cache would drop every image before its next
/// use. Thread-safe.
class ImageCache {
 public:
  ImageCache(std::int64_t images, std::int64_t image_bytes, std::int64_t bytes)
      : room_(std::max<std::int64_t>(bytes, 0) / std::max<std::int64_t>(image_bytes, 1)),
        places_(room_ > 0 ? static_cast<std::size_t>(images) : 0) {}
  ~ImageCache() {
    for (std::atomic<const Pixels*>& place : places_) delete place.load();
  }
  ImageCache(const ImageCache&) = delete;
  ImageCache& operator=(const ImageCache&) = delete;

  /// Returns whether the cache has the image, and copies its pixels to `out` if so.
  [[nodiscard]] bool get(std::int64_t i, std::vector<std::uint8_t>& out) const {
    if (places_.empty()) return false;
    const Pixels* const pixels = places_[static_cast<std::size_t>(i)].load();
    if (pixels == nullptr) return false;
    out.assign(pixels->begin(), pixels->end());
    return true;
  }
  /// Stores the image if there is room.
  void put(std::int64_t i, std::span<const std::uint8_t> pixels) {
    if (places_.empty() || used_.fetch_add(1) >= room_) {
      if (!places_.empty()) used_.fetch_sub(1);
      return;
    }
    auto copy = std::make_unique<const Pixels>(pixels.begin(), pixels.end());
    const Pixels* nothing = nullptr;
    if (places_[static_cast<std::size_t>(i)].compare_exchange_strong(nothing, copy.get()))
      copy.release();
    else
      used_.fetch_sub(1);  // another thread was faster
  }

 private:
  using Pixels = std::vector<std::uint8_t>;

  std::int64_t room_;  // capacity in images
  std::atomic<std::int64_t> used_ = 0;
  std::vector<std::atomic<const Pixels*>> places_;
};

}  // namespace learn::data
