#pragma once
#include "framework/core/random.h"
#include "framework/kernels/augment/augment_plan.h"
#include "framework/kernels/augment/taps.h"
#include "framework/kernels/augment/work_image.h"

#include <cstddef>
#include <cstdint>

namespace learn::image {

/// Memory in units whose alignment is enough for all parts.
struct alignas(16) Block {
  std::byte bytes[16];
};

/// The memory that steps need for one image, in one piece.
struct WorkMemory {
  std::int64_t bytes = 0;  ///< of the largest image
  std::int64_t lines = 0;
  std::int64_t taps = 0;
  bool mixes = false;

  /// Makes room for an image of this size.
  LEARN_HD constexpr void hold(std::int64_t height, std::int64_t width, std::int64_t channels) {
    enlarge(bytes, height * width * channels);
  }
  /// Makes room for scaling an image.
  LEARN_HD constexpr void scale(const Axis& rows, const Axis& columns, std::int64_t channels) {
    hold(rows.source, columns.source, channels);
    hold(rows.result, columns.result, channels);
    enlarge(lines, std::int64_t{rows.result} * columns.source * channels);
    enlarge(taps, std::int64_t{rows.result} * rows.tap_words());
    enlarge(taps, std::int64_t{columns.result} * columns.tap_words());
  }
  /// Makes room for a step.
  LEARN_HD constexpr void add(const AugmentPlan::Step& step, std::int64_t channels) {
    using Kind = AugmentPlan::Step::Kind;
    hold(step.height, step.width, channels);
    if (step.kind == Kind::resized_crop)
      scale(scaled(step.height, step.out_height), scaled(step.width, step.out_width), channels);
    if (step.change == Change::Kind::blur) {
      enlarge(lines, std::int64_t{step.height} * step.width * channels);
      enlarge(taps, std::int64_t{step.count} + 2);
    }
    mixes = mixes || step.kind == Kind::augmix;
  }

  [[nodiscard]] LEARN_HD constexpr std::int64_t blocks() const {
    return in_blocks(mixes ? 4 * bytes : 0) + in_blocks(4 * taps) + in_blocks(2 * lines) +
           (mixes ? 3 : 2) * in_blocks(bytes);
  }
  /// Divides that many blocks.
  [[nodiscard]] LEARN_HD WorkImage divide(Block* block,
                                          std::int64_t height,
                                          std::int64_t width,
                                          std::int64_t channels) const {
    const auto take = [&](std::int64_t size) {
      Block* const part = block;
      block += in_blocks(size);
      return part;
    };
    WorkImage image{};
    image.height = static_cast<std::int32_t>(height);
    image.width = static_cast<std::int32_t>(width);
    image.channels = static_cast<std::int32_t>(channels);
    image.sums = reinterpret_cast<float*>(take(mixes ? 4 * bytes : 0));
    image.taps = reinterpret_cast<std::int32_t*>(take(4 * taps));
    image.lines = reinterpret_cast<std::uint16_t*>(take(2 * lines));
    image.now = reinterpret_cast<std::uint8_t*>(take(bytes));
    image.next = reinterpret_cast<std::uint8_t*>(take(bytes));
    image.origin = mixes ? reinterpret_cast<std::uint8_t*>(take(bytes)) : nullptr;
    return image;
  }

 private:
  LEARN_HD static constexpr void enlarge(std::int64_t& size, std::int64_t least) {
    if (size < least) size = least;
  }
  LEARN_HD static constexpr std::int64_t in_blocks(std::int64_t size) { return (size + 15) / 16; }
};

}  // namespace learn::image
