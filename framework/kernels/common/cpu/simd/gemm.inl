// The matrix kernels. The file of each instruction set includes them inside its anonymous namespace
// after defining
//   kLanes             floats per vector register,
//   kMaxWidth          vector registers per row of the widest tile,
//   max_rows(width)    rows of a tile of that width, with all its sums in registers. Wide and low
//                      tiles need fewer loads per product than narrow and high ones.

using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using UnalignedVector
    [[gnu::vector_size(kLanes * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] =
        float;

inline Vector load(const float* from) { return *reinterpret_cast<const UnalignedVector*>(from); }
inline void store(float* to, Vector v) { *reinterpret_cast<UnalignedVector*>(to) = v; }

/// Stores `width` < kWidth * kLanes columns of a row, whole vectors first.
template <int kWidth>
inline void store_part(const Vector* sum, float* c, std::int64_t width, bool accumulate) {
  int j = 0;
  for (; (j + 1) * kLanes <= width; ++j)
    store(c + j * kLanes, accumulate ? sum[j] + load(c + j * kLanes) : sum[j]);
  if (j == kWidth) return;
  const Vector last = sum[j];
  c += j * kLanes;
  for (std::int64_t x = 0; x < width - j * kLanes; ++x)
    c[x] = accumulate ? c[x] + last[x] : last[x];
}

/// Memory to request, `step` bytes further for each product of a tile's sums.
struct Ahead {
  const char* at;
  std::int64_t step;
};

/// Computes one tile: kRows rows by kWidth vectors of columns, with all sums in registers.
template <int kRows, int kWidth, bool kTransposed>
void tile(const GemmBlock& g, std::int64_t row, const float* b, std::int64_t column, Ahead ahead) {
  Vector sum[kRows][kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) sum[i][j] = Vector{};

  if (g.far_results) {
    constexpr int kLine = 64 / sizeof(float);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int at = 0; at < kWidth * kLanes; at += kLine)
        __builtin_prefetch(g.c[row + i] + g.c_offset + column + at, 1);
  }
  // With few tiles, each has to request more than a line per product.
  constexpr bool kFewRows = 2 * kRows <= max_rows(kWidth);
  const std::int64_t stride = g.a_stride;
  const float* const first = g.a + (kTransposed ? row : row * stride);
  for (const Run* run = g.runs; run != g.runs + g.run_count; ++run) {
    const float* a = first + run->a;
    const float* panel = b + run->b;
    const float* next = panel + g.b_stride;  // if the tile is wider than a panel
    for (std::int64_t k = run->depth; k > 0; --k) {
      __builtin_prefetch(ahead.at, 0, 2);
      if constexpr (kFewRows) __builtin_prefetch(ahead.at + ahead.step / 2, 0, 2);
      ahead.at += ahead.step;
      Vector right[kWidth];
#pragma GCC unroll 4
      for (int j = 0; j < kWidth; ++j)
        right[j] = load((j * kLanes < kPanel ? panel : next) + j * kLanes % kPanel);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const float left = kTransposed ? a[i] : a[i * stride];
#pragma GCC unroll 4
        for (int j = 0; j < kWidth; ++j) sum[i][j] += left * right[j];
      }
      a += kTransposed ? stride : 1;
      panel += g.b_row;
      next += g.b_row;
    }
  }

  const std::int64_t width = g.columns - column;
  if (width >= kWidth * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      float* c = g.c[row + i] + g.c_offset + column;
#pragma GCC unroll 4
      for (int j = 0; j < kWidth; ++j)
        store(c + j * kLanes, g.accumulate ? sum[i][j] + load(c + j * kLanes) : sum[i][j]);
    }
    return;
  }
  // A copy, because sums with an address are kept in memory.
  Vector stored[kRows][kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) stored[i][j] = sum[i][j];
  for (int i = 0; i < kRows; ++i)
    store_part<kWidth>(stored[i], g.c[row + i] + g.c_offset + column, width, g.accumulate);
}

template <bool kTransposed, int kWidth, int kRows>
void tile_of(int rows,
             const GemmBlock& g,
             std::int64_t row,
             const float* b,
             std::int64_t column,
             Ahead ahead) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return tile<kRows, kWidth, kTransposed>(g, row, b, column, ahead);
    tile_of<kTransposed, kWidth, kRows - 1>(rows, g, row, b, column, ahead);
  }
}

inline const float* panel_of(const GemmBlock& g, std::int64_t column) {
  return g.b + column / kPanel * g.b_stride + column % kPanel;
}

/// Operands that come from memory while tiles are computed: the panels of the next columns, or of
/// the next product, or later rows of `a`.
class NextOperands {
 public:
  NextOperands(const GemmBlock& g, const float* b, std::int64_t column) : g_(g), b_(b) {
    if (g.b_row != kPanel || g.run_count == 0) return;
    next_ = column < g.columns ? panel_of(g, column) : g.ahead;
    for (const Run* run = g.runs; run != g.runs + g.run_count; ++run) rows_ += run->depth;
  }
  /// Returns the share that tile `t` of `tiles`, `width` vectors wide, requests. It has the rows
  /// [begin, end) of `a`.
  Ahead share(std::int64_t t,
              std::int64_t tiles,
              std::int64_t width,
              std::int64_t begin,
              std::int64_t end) const {
    constexpr std::int64_t kTiles = 3;  // how far ahead rows are requested
    if (next_ == nullptr && g_.streamed)
      return {reinterpret_cast<const char*>(g_.a + (begin + kTiles * (end - begin)) * g_.a_stride),
              (end - begin) * static_cast<std::int64_t>(sizeof(float))};
    if (next_ == nullptr || rows_ == 0) return {reinterpret_cast<const char*>(b_), 0};
    const std::int64_t panels = (width * kLanes + kPanel - 1) / kPanel;
    const std::int64_t row = t * panels * rows_ / tiles;
    const float* at = next_ + row / rows_ * g_.b_stride + g_.runs->b + row % rows_ * kPanel;
    return {reinterpret_cast<const char*>(at),
            panels * kPanel * static_cast<std::int64_t>(sizeof(float)) / tiles};
  }

 private:
  const GemmBlock& g_;
  const float* b_;
  const float* next_ = nullptr;
  std::int64_t rows_ = 0;
};

/// Multiplies all rows of the columns that one tile covers, starting with `column`. Rows are
/// distributed evenly, so that no tile is nearly empty: 64 rows make 13+13+13+13+12.
template <bool kTransposed, int kWidth>
void multiply_columns(int width, const GemmBlock& g, std::int64_t column) {
  if constexpr (kWidth > 0) {
    if (width < kWidth) return multiply_columns<kTransposed, kWidth - 1>(width, g, column);
    constexpr int kRows = max_rows(kWidth);
    const float* b = panel_of(g, column);
    const NextOperands next(g, b, column + kWidth * kLanes);
    const std::int64_t tiles = (g.rows + kRows - 1) / kRows;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = g.rows * t / tiles;
      const std::int64_t end = g.rows * (t + 1) / tiles;
      tile_of<kTransposed, kWidth, kRows>(static_cast<int>(end - begin),
                                          g,
                                          begin,
                                          b,
                                          column,
                                          next.share(t, tiles, kWidth, begin, end));
    }
  }
}

/// Multiplies a block. The last tile is as narrow as the remaining columns allow.
template <bool kTransposed>
void multiply_block(const GemmBlock& g) {
  constexpr std::int64_t kTileColumns = kMaxWidth * kLanes;
  for (std::int64_t column = 0; column < g.columns; column += kTileColumns) {
    const std::int64_t vectors = (g.columns - column + kLanes - 1) / kLanes;
    const int width = vectors < kMaxWidth ? static_cast<int>(vectors) : kMaxWidth;
    multiply_columns<kTransposed, kMaxWidth>(width, g, column);
  }
}

/// Copies a short stretch without a call or a loop per float. Short lengths are common (9 floats
/// for three colours in a 3x3 window).
inline void copy_floats(float* to, const float* from, std::int64_t n) {
  for (; n >= kLanes; n -= kLanes, from += kLanes, to += kLanes) store(to, load(from));
#pragma GCC unroll 4
  for (std::int64_t part = kLanes / 2; part > 0; part /= 2)
    if ((n & part) != 0) {
      __builtin_memcpy(to, from, static_cast<unsigned long>(part) * sizeof(float));
      to += part;
      from += part;
    }
}

void gather_rows(const float* const* from,
                 std::int64_t rows,
                 const Copy* copies,
                 std::int64_t copy_count,
                 float* to,
                 std::int64_t stride) {
  for (std::int64_t i = 0; i < rows; ++i, to += stride)
    for (const Copy* copy = copies; copy != copies + copy_count; ++copy)
      copy_floats(to + copy->to, from[i] + copy->from, copy->length);
}

using Four [[gnu::vector_size(16)]] = float;
using UnalignedFour [[gnu::vector_size(16), gnu::aligned(alignof(float)), gnu::may_alias]] = float;

/// Transposes 4x4 floats at a time, in two rounds of interleaving.
void transpose(const float* from,
               std::int64_t from_stride,
               std::int64_t rows,
               std::int64_t columns,
               float* to,
               std::int64_t to_stride) {
  const auto four = [](const float* p) { return *reinterpret_cast<const UnalignedFour*>(p); };
  const auto put = [](float* p, Four v) { *reinterpret_cast<UnalignedFour*>(p) = v; };
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* in = from + r * from_stride;
    std::int64_t c = 0;
    for (; c + 4 <= columns; c += 4, in += 4) {
      const Four a = four(in);
      const Four b = four(in + from_stride);
      const Four d = four(in + 2 * from_stride);
      const Four e = four(in + 3 * from_stride);
      const Four ad_low = __builtin_shufflevector(a, d, 0, 4, 1, 5);
      const Four ad_high = __builtin_shufflevector(a, d, 2, 6, 3, 7);
      const Four be_low = __builtin_shufflevector(b, e, 0, 4, 1, 5);
      const Four be_high = __builtin_shufflevector(b, e, 2, 6, 3, 7);
      float* out = to + c * to_stride + r;
      put(out, __builtin_shufflevector(ad_low, be_low, 0, 4, 1, 5));
      put(out + to_stride, __builtin_shufflevector(ad_low, be_low, 2, 6, 3, 7));
      put(out + 2 * to_stride, __builtin_shufflevector(ad_high, be_high, 0, 4, 1, 5));
      put(out + 3 * to_stride, __builtin_shufflevector(ad_high, be_high, 2, 6, 3, 7));
    }
    for (; c < columns; ++c)
      for (std::int64_t i = r; i < r + 4; ++i) to[c * to_stride + i] = from[i * from_stride + c];
  }
  for (; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}
