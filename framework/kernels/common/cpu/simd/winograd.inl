// Winograd's algorithm, vectorized over channels. Include after gemm.inl and toom_cook.inl.
// Each transform is one-dimensional, applied to the columns and then to the rows.

/// Computes to = Map::kMatrix * from, without products by zero.
template <class Map>
inline __attribute__((always_inline)) void multiply_by(const Vector* from, Vector* to) {
#pragma GCC unroll 9
  for (int i = 0; i < Map::kMatrix.kRows; ++i) {
    bool first = true;
#pragma GCC unroll 9
    for (int j = 0; j < Map::kMatrix.kColumns; ++j) {
      if (Map::kMatrix.at[i][j] == 0) continue;
      const Vector term = static_cast<float>(Map::kMatrix.at[i][j]) * from[j];
      to[i] = first ? term : to[i] + term;
      first = false;
    }
  }
}

/// Computes kMatrix * X * kMatrix^T. `get` reads an element (i, j) of X, and `put` writes one of
/// the result.
template <class Map, class Get, class Put>
inline __attribute__((always_inline)) void transform(const Get& get, const Put& put) {
  constexpr int kRows = Map::kMatrix.kRows;
  constexpr int kColumns = Map::kMatrix.kColumns;
  Vector half[kRows][kColumns];
#pragma GCC unroll 9
  for (int j = 0; j < kColumns; ++j) {
    Vector in[kColumns];
    Vector out[kRows];
#pragma GCC unroll 9
    for (int i = 0; i < kColumns; ++i) in[i] = get(i, j);
    multiply_by<Map>(in, out);
#pragma GCC unroll 9
    for (int i = 0; i < kRows; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 9
  for (int i = 0; i < kRows; ++i) {
    Vector out[kRows];
    multiply_by<Map>(half[i], out);
#pragma GCC unroll 9
    for (int j = 0; j < kRows; ++j) put(i, j, out[j]);
  }
}

/// Returns the first channel of the vector for channel c on. The last vector overlaps the one
/// before if it is not full.
inline std::int64_t vector_at(std::int64_t c, std::int64_t channels) {
  return c + kLanes <= channels ? c : channels - kLanes;
}

/// Stores a sum. If it is added, the first `done` channels are left as they are.
inline void store_sum(float* to, Vector v, bool accumulate, std::int64_t done) {
  if (!accumulate) return store(to, v);
  if (done == 0) return store(to, v + load(to));
  for (std::int64_t i = done; i < kLanes; ++i) to[i] += v[i];
}

/// Transforms the pixels of a tile into matrices.
template <class Map>
void transform_pixels(const float* const* pixels,
                      std::int64_t channels,
                      const WinogradMatrices& to) {
  for (std::int64_t begin = 0; begin < channels; begin += kLanes) {
    const std::int64_t c = vector_at(begin, channels);
    transform<Map>([&](int i, int j) { return load(pixels[i * Map::kMatrix.kColumns + j] + c); },
                   [&](int i, int j, Vector v) {
                     store(to.data + (i * Map::kMatrix.kRows + j) * to.matrix + c, v);
                   });
  }
}

template <class Map>
void transform_to_pixels(const WinogradMatrices& from,
                         std::int64_t channels,
                         float* const* pixels,
                         bool accumulate) {
  for (std::int64_t begin = 0; begin < channels; begin += kLanes) {
    const std::int64_t c = vector_at(begin, channels);
    transform<Map>(
        [&](int i, int j) {
          return load(from.data + (i * Map::kMatrix.kColumns + j) * from.matrix + c);
        },
        [&](int i, int j, Vector v) {
          float* pixel = pixels[i * Map::kMatrix.kRows + j];
          if (pixel != nullptr) store_sum(pixel + c, v, accumulate, begin - c);
        });
  }
}

template <class Map>
void transform_taps(const float* taps,
                    std::int64_t tap_stride,
                    std::int64_t rows,
                    const WinogradMatrices& to) {
  for (std::int64_t at = 0; at < rows * kPanel; at += kLanes)
    transform<Map>(
        [&](int i, int j) {
          return load(taps + (i * Map::kMatrix.kColumns + j) * tap_stride + at);
        },
        [&](int i, int j, Vector v) {
          store(to.data + (i * Map::kMatrix.kRows + j) * to.matrix + at, v);
        });
}

template <class Map>
void transform_to_taps(const WinogradMatrices& from,
                       std::int64_t channels,
                       float* dw,
                       bool accumulate) {
  for (std::int64_t begin = 0; begin < channels; begin += kLanes) {
    const std::int64_t c = vector_at(begin, channels);
    transform<Map>(
        [&](int i, int j) {
          return load(from.data + (i * Map::kMatrix.kColumns + j) * from.matrix + c);
        },
        [&](int i, int j, Vector v) {
          store_sum(dw + (i * Map::kMatrix.kRows + j) * channels + c, v, accumulate, begin - c);
        });
  }
}

template <class Variant>
struct ForwardInput {
  static constexpr auto kMatrix = Variant::kForward.input;
};
template <class Variant>
struct ForwardOutput {
  static constexpr auto kMatrix = Variant::kForward.output;
};
template <class Variant>
struct BackwardInput {
  static constexpr auto kMatrix = Variant::kBackward.input;
};
template <class Variant>
struct BackwardOutput {
  static constexpr auto kMatrix = Variant::kBackward.output;
};
template <class Variant>
struct OutputGradient {
  static constexpr auto kMatrix = transposed(Variant::kForward.output);
};
template <class Variant>
struct Weight {
  static constexpr auto kMatrix = Variant::kForward.weight;
};
template <class Variant>
struct WeightGradient {
  static constexpr auto kMatrix = transposed(Variant::kForward.weight);
};

template <class Input, class Output>
constexpr WinogradPass winograd_pass() {
  return {.from = Input::kMatrix.kColumns,
          .to = Output::kMatrix.kRows,
          .input = transform_pixels<Input>,
          .output = transform_to_pixels<Output>};
}

template <class Variant>
constexpr WinogradPass backward_pass() {
  if constexpr (Variant::kStride == 1)
    return winograd_pass<ForwardInput<Variant>, ForwardOutput<Variant>>();
  else
    return winograd_pass<BackwardInput<Variant>, BackwardOutput<Variant>>();
}

template <class Variant>
constexpr Winograd winograd() {
  return {.window = Weight<Variant>::kMatrix.kColumns,
          .stride = Variant::kStride,
          .points = ForwardInput<Variant>::kMatrix.kRows,
          .weight_points = Weight<Variant>::kMatrix.kRows,
          .forward = winograd_pass<ForwardInput<Variant>, ForwardOutput<Variant>>(),
          .backward = backward_pass<Variant>(),
          .output_gradient = transform_pixels<OutputGradient<Variant>>,
          .weight = transform_taps<Weight<Variant>>,
          .weight_gradient = transform_to_taps<WeightGradient<Variant>>};
}
