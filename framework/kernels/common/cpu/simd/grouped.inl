// Convolutions with few channels per group, vectorized over the channels of neighbouring groups.
// Include after gemm.inl.

/// Lane l gets lane kChannel of its group, which is kWidth lanes wide.
template <int kWidth, int kChannel>
inline Vector in_group(Vector v) {
  constexpr auto from = [](int lane) { return lane / kWidth * kWidth + kChannel; };
  if constexpr (kWidth == 1)
    return v;
  else if constexpr (kLanes == 4)
    return __builtin_shufflevector(v, v, from(0), from(1), from(2), from(3));
  else if constexpr (kLanes == 8)
    return __builtin_shufflevector(
        v, v, from(0), from(1), from(2), from(3), from(4), from(5), from(6), from(7));
  else
    return __builtin_shufflevector(v,
                                   v,
                                   from(0),
                                   from(1),
                                   from(2),
                                   from(3),
                                   from(4),
                                   from(5),
                                   from(6),
                                   from(7),
                                   from(8),
                                   from(9),
                                   from(10),
                                   from(11),
                                   from(12),
                                   from(13),
                                   from(14),
                                   from(15));
}

/// Channel kChannel of each lane's group: of the channels at `x`, which are in `whole`.
template <int kWidth, int kChannel>
inline auto operand(const float* x, Vector whole) {
  if constexpr (kWidth == kLanes)
    return x[kChannel];
  else
    return in_group<kWidth, kChannel>(whole);
}

/// The channels of one vector. The last vector overlaps the one before it if the channels fill only
/// a part.
struct ChannelBlock {
  std::int64_t first;  ///< channel
  std::int64_t done;   ///< lanes that belong to the block before
};

inline ChannelBlock channel_block(const GroupedGrid& g, std::int64_t block) {
  const std::int64_t at = block * kLanes;
  const std::int64_t last = g.channels - kLanes;
  return at <= last ? ChannelBlock{at, 0} : ChannelBlock{last, at - last};
}

/// Adds the products of one tap to kPixels sums. Neighbouring products belong to different sums.
template <int kWidth, int kPixels, int kChannel = 0>
inline __attribute__((always_inline)) void add_tap(
    const float* x, std::int64_t step, const Vector* whole, const float* weights, Vector* sum) {
  if constexpr (kChannel < kWidth) {
    const Vector right = load(weights + kChannel * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i)
      sum[i] += operand<kWidth, kChannel>(x + i * step, whole[i]) * right;
    add_tap<kWidth, kPixels, kChannel + 1>(x, step, whole, weights, sum);
  }
}

/// Computes kPixels neighbouring results, with their sums in registers.
template <int kWidth, int kPixels>
inline void grouped_pixels(const GroupedGrid& g,
                           const float* from,
                           const float* weights,
                           Vector start,
                           float* to,
                           std::int64_t done,
                           bool accumulate) {
  Vector sum[kPixels];
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) sum[i] = start;
  for (const WindowTap* tap = g.taps; tap != g.taps + g.tap_count; ++tap) {
    const float* x = from + tap->from;
    Vector whole[kPixels];
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i) whole[i] = load(x + i * g.columns.from);
    add_tap<kWidth, kPixels>(x, g.columns.from, whole, weights + tap->index * kWidth * kLanes, sum);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) {
    float* const y = to + i * g.columns.to;
    if (!accumulate)
      store(y, sum[i]);
    else if (done == 0)
      store(y, sum[i] + load(y));
    else
      for (std::int64_t lane = done; lane < kLanes; ++lane) y[lane] += sum[i][lane];
  }
}

template <int kWidth, int kPixels, class... Rest>
void grouped_pixels_of(std::int64_t pixels, const Rest&... rest) {
  if constexpr (kPixels > 0) {
    if (pixels == kPixels) return grouped_pixels<kWidth, kPixels>(rest...);
    grouped_pixels_of<kWidth, kPixels - 1>(pixels, rest...);
  }
}

/// Lines of memory that are requested in equal shares, to read or to write them.
template <bool kWritten>
struct LinesAhead {
  static constexpr std::int64_t kLine = 64 / sizeof(float);
  const float* at;
  std::int64_t left, share;

  LinesAhead(bool wanted, const float* from, std::int64_t floats, std::int64_t shares)
      : at(from), left(wanted ? floats / kLine : 0), share(left / shares + 1) {}
  void request() {
    for (std::int64_t line = 0; line < share && left > 0; ++line, --left, at += kLine)
      __builtin_prefetch(at, kWritten, 2);
  }
};

/// Pixels are divided evenly, so that no part has too few sums to hide the latency of an addition.
template <int kWidth>
void grouped_products(const GroupedGrid& g,
                      const float* from,
                      const float* weights,
                      const float* bias,
                      float* to,
                      bool accumulate) {
  constexpr int kPixels = kLanes == 16 || kWidth == 1 ? 8 : 6;  // with their operands in registers
  const std::int64_t parts = (g.columns.count + kPixels - 1) / kPixels;
  const bool streamed = g.streamed && g.tap_count > 0 && g.rows.from > g.columns.from;
  const float* lowest = from;  // the row that the first row of results reads last
  if (streamed) {
    const std::int64_t ends[] = {g.taps[0].from, g.taps[g.tap_count - 1].from};
    lowest += ends[0] > ends[1] ? ends[0] : ends[1];
  }
  for (std::int64_t row = 0; row < g.rows.count; ++row) {
    LinesAhead<false> next(streamed,
                           lowest + row * g.rows.from + g.columns.count * g.columns.from,
                           g.rows.from,
                           parts * (g.last_block - g.first_block));
    LinesAhead<true> results(streamed && !accumulate,
                             to + (row + 1) * g.rows.to,
                             g.rows.to,
                             parts * (g.last_block - g.first_block));
    for (std::int64_t block = g.first_block; block < g.last_block; ++block) {
      const auto [first, done] = channel_block(g, block);
      const float* const w = weights + block * g.window * kWidth * kLanes;
      const Vector start = bias == nullptr ? Vector{} : load(bias + first);
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t begin = g.columns.count * part / parts;
        next.request();
        results.request();
        grouped_pixels_of<kWidth, kPixels>(
            g.columns.count * (part + 1) / parts - begin,
            g,
            from + row * g.rows.from + begin * g.columns.from + first,
            w,
            start,
            to + row * g.rows.to + begin * g.columns.to + first,
            done,
            accumulate);
      }
    }
  }
}

template <int kWidth, int kChannel = 0>
inline __attribute__((always_inline)) void add_channels(const float* x,
                                                        Vector whole,
                                                        Vector right,
                                                        Vector* sum) {
  if constexpr (kChannel < kWidth) {
    sum[kChannel] += operand<kWidth, kChannel>(x, whole) * right;
    add_channels<kWidth, kChannel + 1>(x, whole, right, sum);
  }
}

/// The rows of both images after the rows of a grid, requested while their products are added.
struct NextRows {
  LinesAhead<false> x, dy;

  NextRows(const GroupedGrid& g, const float* from, const float* to, std::int64_t passes)
      : x(g.streamed,
          from + g.rows.count * g.rows.from,
          g.rows.count * g.rows.from,
          shares(g, passes)),
        dy(g.streamed, to + g.rows.count * g.rows.to, g.rows.count * g.rows.to, shares(g, passes)) {
  }

 private:
  static std::int64_t shares(const GroupedGrid& g, std::int64_t passes) {
    return (g.last_block - g.first_block) * passes * g.rows.count * g.columns.count;
  }
};

/// Adds to the sums of kTaps taps the products of all pixels.
template <int kWidth, int kTaps>
void grouped_tap_sums(const GroupedGrid& g,
                      const WindowTap* taps,
                      const float* x,
                      const float* dy,
                      float* sums,
                      NextRows& next) {
  Vector sum[kTaps][kWidth];
#pragma GCC unroll 16
  for (int t = 0; t < kTaps; ++t)
#pragma GCC unroll 16
    for (int c = 0; c < kWidth; ++c) sum[t][c] = Vector{};
  for (std::int64_t row = 0; row < g.rows.count; ++row) {
    const float* from = x + row * g.rows.from;
    const float* gradient = dy + row * g.rows.to;
    for (std::int64_t i = 0; i < g.columns.count; ++i) {
      next.x.request();
      next.dy.request();
      const Vector right = load(gradient);
#pragma GCC unroll 16
      for (int t = 0; t < kTaps; ++t) {
        const float* const pixel = from + taps[t].from;
        add_channels<kWidth>(pixel, load(pixel), right, sum[t]);
      }
      from += g.columns.from;
      gradient += g.columns.to;
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTaps; ++t)
#pragma GCC unroll 16
    for (int c = 0; c < kWidth; ++c) {
      float* const total = sums + (taps[t].index * kWidth + c) * kLanes;
      store(total, load(total) + sum[t][c]);
    }
}

template <int kWidth, int kTaps>
void grouped_taps(std::int64_t tap,
                  const GroupedGrid& g,
                  const float* x,
                  const float* dy,
                  float* sums,
                  NextRows& next) {
  for (; tap + kTaps <= g.tap_count; tap += kTaps)
    grouped_tap_sums<kWidth, kTaps>(g, g.taps + tap, x, dy, sums, next);
  if constexpr (kTaps > 1) grouped_taps<kWidth, kTaps - 1>(tap, g, x, dy, sums, next);
}

template <int kWidth>
void grouped_products_transposed(const GroupedGrid& g,
                                 const float* x,
                                 const float* dy,
                                 float* sums) {
  // Enough sums to hide the latency of an addition, and few enough for the registers.
  constexpr int kTaps = kWidth == 1 ? 9 : kWidth == 2 ? 4 : kWidth == 4 ? 2 : 1;
  NextRows next(g, x, dy, (g.tap_count + kTaps - 1) / kTaps);
  for (std::int64_t block = g.first_block; block < g.last_block; ++block) {
    const std::int64_t first = channel_block(g, block).first;
    grouped_taps<kWidth, kTaps>(
        0, g, x + first, dy + first, sums + block * g.window * kWidth * kLanes, next);
  }
}

template <int kWidth = kLanes, class... Operands>
void multiply_groups(const GroupedGrid& g, Operands... operands) {
  if constexpr (kWidth > 0) {
    if (g.width == kWidth) return grouped_products<kWidth>(g, operands...);
    multiply_groups<kWidth / 2>(g, operands...);
  }
}

template <int kWidth = kLanes, class... Operands>
void multiply_groups_transposed(const GroupedGrid& g, Operands... operands) {
  if constexpr (kWidth > 0) {
    if (g.width == kWidth) return grouped_products_transposed<kWidth>(g, operands...);
    multiply_groups_transposed<kWidth / 2>(g, operands...);
  }
}
