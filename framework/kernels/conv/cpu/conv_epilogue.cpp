#include "framework/kernels/conv/cpu/conv_epilogue.h"

#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/vectorize.h"

namespace learn::cpu {
namespace {

/// Applies `combine` to rows. The offset of a row from `y` is also its offset in `residual`. If
/// `combine` ignores the residual, `residual` may be y.
template <class Combine>
void apply_rows(const ConvEpilogue& e,
                const float* residual,
                float* const* rows,
                std::int64_t count,
                std::int64_t offset,
                std::int64_t channel,
                std::int64_t columns,
                Combine combine) {
  simd::run([=, y = e.y, scale = e.scale + channel, shift = e.shift + channel] {
    for (std::int64_t i = 0; i < count; ++i) {
      if (rows[i] == nullptr) continue;
      float* const row = rows[i] + offset;
      const float* const other = residual + (row - y);
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < columns; ++j)
        row[j] = combine(row[j] * scale[j] + shift[j], other[j]);
    }
  });
}

}  // namespace

void ConvEpilogue::apply(float* const* rows,
                         std::int64_t count,
                         std::int64_t offset,
                         std::int64_t channel,
                         std::int64_t columns) const {
  const auto run = [&](auto combine) {
    apply_rows(
        *this, residual == nullptr ? y : residual, rows, count, offset, channel, columns, combine);
  };
  with_value(activation, [&](auto value) {
    if (residual == nullptr)
      run([=](float normalized, float) { return value(normalized); });
    else if (residual_before_activation)
      run([=](float normalized, float other) { return value(normalized + other); });
    else
      run([=](float normalized, float other) { return value(normalized) + other; });
  });
}

}  // namespace learn::cpu
