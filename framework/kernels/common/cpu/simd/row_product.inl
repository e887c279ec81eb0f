// Products with a right operand whose rows are summed, read where they lie. Include after gemm.inl.

/// Adds the lanes in pairs.
inline float sum_of_lanes(Vector v) {
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t lane = 0; lane < half; ++lane) v[lane] += v[lane + half];
  return v[0];
}

/// Computes kRows x kColumns dot products, with all sums in registers.
template <int kRows, int kColumns>
void dot_tile(const DotBlock& g, std::int64_t row, std::int64_t column) {
  const float* const a = g.a + row * g.a_stride;
  const float* const b = g.b + column * g.b_stride;
  Vector sum[kRows][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sum[i][j] = Vector{};
  for (std::int64_t k = 0; k < g.depth; k += kLanes) {
    Vector right[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) right[j] = load(b + j * g.b_stride + k);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vector left = load(a + i * g.a_stride + k);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      const float total = sum_of_lanes(sum[i][j]);
      g.c[row + i][g.c_offset + column + j] =
          g.bias == nullptr ? total : total + g.bias[column + j];
    }
}

template <int kRows, int kColumns>
void dot_tile_of(int rows, int columns, const DotBlock& g, std::int64_t row, std::int64_t column) {
  if constexpr (kRows > 0 && kColumns > 0) {
    if (rows < kRows) return dot_tile_of<kRows - 1, kColumns>(rows, columns, g, row, column);
    if (columns < kColumns) return dot_tile_of<kRows, kColumns - 1>(rows, columns, g, row, column);
    dot_tile<kRows, kColumns>(g, row, column);
  }
}

/// Rows of the right operand are outside, since they are read once.
void dot_rows(const DotBlock& g) {
  constexpr int kRows = kLanes == 16 ? 8 : 4;
  constexpr int kColumns = 3;
  const std::int64_t tiles = (g.rows + kRows - 1) / kRows;
  for (std::int64_t column = 0; column < g.columns; column += kColumns) {
    const std::int64_t columns = g.columns - column < kColumns ? g.columns - column : kColumns;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = g.rows * t / tiles;
      dot_tile_of<kRows, kColumns>(static_cast<int>(g.rows * (t + 1) / tiles - begin),
                                   static_cast<int>(columns),
                                   g,
                                   begin,
                                   column);
    }
  }
}
