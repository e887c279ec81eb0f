// The transforms of Winograd's F(4x4,3x3), vectorized over channels. Include after gemm.inl. Each
// is a one-dimensional transform, applied to the columns and then to the rows.

constexpr int kPoints = 6;

/// B^T d
struct InputTransform {
  static constexpr int kFrom = 6, kTo = 6;
  static void apply(const Vector* d, Vector* t) {
    const Vector a = d[4] - 4.0F * d[2];
    const Vector b = d[3] - 4.0F * d[1];
    const Vector c = d[4] - d[2];
    const Vector e = 2.0F * (d[3] - d[1]);
    t[0] = 4.0F * d[0] - 5.0F * d[2] + d[4];
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = 4.0F * d[1] - 5.0F * d[3] + d[5];
  }
};

/// A^T m
struct OutputTransform {
  static constexpr int kFrom = 6, kTo = 4;
  static void apply(const Vector* m, Vector* t) {
    const Vector a = m[1] + m[2];
    const Vector b = m[1] - m[2];
    const Vector c = m[3] + m[4];
    const Vector e = m[3] - m[4];
    t[0] = m[0] + a + c;
    t[1] = b + 2.0F * e;
    t[2] = a + 4.0F * c;
    t[3] = b + 8.0F * e + m[5];
  }
};

/// A dy
struct OutputGradientTransform {
  static constexpr int kFrom = 4, kTo = 6;
  static void apply(const Vector* y, Vector* t) {
    const Vector a = y[0] + y[2];
    const Vector b = y[1] + y[3];
    const Vector c = y[0] + 4.0F * y[2];
    const Vector e = 2.0F * y[1] + 8.0F * y[3];
    t[0] = y[0];
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = y[3];
  }
};

/// G w
struct WeightTransform {
  static constexpr int kFrom = 3, kTo = 6;
  static void apply(const Vector* w, Vector* t) {
    const Vector a = (w[0] + w[2]) * (-1.0F / 6);
    const Vector b = w[1] * (-1.0F / 6);
    const Vector c = w[0] * (1.0F / 24) + w[2] * (1.0F / 6);
    const Vector e = w[1] * (1.0F / 12);
    t[0] = w[0] * 0.25F;
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = w[2];
  }
};

/// G^T du
struct WeightGradientTransform {
  static constexpr int kFrom = 6, kTo = 3;
  static void apply(const Vector* u, Vector* t) {
    const Vector a = (u[1] + u[2]) * (-1.0F / 6);
    const Vector b = u[3] + u[4];
    t[0] = u[0] * 0.25F + a + b * (1.0F / 24);
    t[1] = (u[2] - u[1]) * (1.0F / 6) + (u[3] - u[4]) * (1.0F / 12);
    t[2] = a + b * (1.0F / 6) + u[5];
  }
};

/// Reads element (i, j) with `get` and writes the transformed (i, j) with `put`.
template <class Transform, class Get, class Put>
inline __attribute__((always_inline)) void transform(const Get& get, const Put& put) {
  constexpr int kFrom = Transform::kFrom;
  constexpr int kTo = Transform::kTo;
  Vector half[kTo][kFrom];
#pragma GCC unroll 6
  for (int j = 0; j < kFrom; ++j) {
    Vector in[kFrom];
    Vector out[kTo];
#pragma GCC unroll 6
    for (int i = 0; i < kFrom; ++i) in[i] = get(i, j);
    Transform::apply(in, out);
#pragma GCC unroll 6
    for (int i = 0; i < kTo; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kTo; ++i) {
    Vector out[kTo];
    Transform::apply(half[i], out);
#pragma GCC unroll 6
    for (int j = 0; j < kTo; ++j) put(i, j, out[j]);
  }
}

inline float* matrix_row(const WinogradMatrices& m, std::int64_t channel) {
  return m.data + channel / kPanel * m.panel + channel % kPanel;
}

/// Transforms the pixels of a tile into the 36 matrices.
template <class Transform>
void transform_pixels(const float* const* pixels,
                      std::int64_t channels,
                      const WinogradMatrices& to) {
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    float* out = matrix_row(to, c);
    transform<Transform>(
        [&](int i, int j) { return load(pixels[i * Transform::kFrom + j] + c); },
        [&](int i, int j, Vector v) { store(out + (i * kPoints + j) * to.matrix, v); });
  }
}

void winograd_input(const float* const* pixels, std::int64_t channels, const WinogradMatrices& to) {
  transform_pixels<InputTransform>(pixels, channels, to);
}

void winograd_output_gradient(const float* const* pixels,
                              std::int64_t channels,
                              const WinogradMatrices& to) {
  transform_pixels<OutputGradientTransform>(pixels, channels, to);
}

void winograd_output(const WinogradMatrices& from,
                     std::int64_t channels,
                     float* const* pixels,
                     bool accumulate) {
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const float* in = matrix_row(from, c);
    transform<OutputTransform>(
        [&](int i, int j) { return load(in + (i * kPoints + j) * from.matrix); },
        [&](int i, int j, Vector v) {
          float* pixel = pixels[i * OutputTransform::kTo + j];
          if (pixel == nullptr) return;
          store(pixel + c, accumulate ? v + load(pixel + c) : v);
        });
  }
}

void winograd_weight(const float* taps,
                     std::int64_t tap_stride,
                     std::int64_t rows,
                     const WinogradMatrices& to) {
  for (std::int64_t at = 0; at < rows * kPanel; at += kLanes)
    transform<WeightTransform>(
        [&](int i, int j) {
          return load(taps + (i * WeightTransform::kFrom + j) * tap_stride + at);
        },
        [&](int i, int j, Vector v) { store(to.data + (i * kPoints + j) * to.matrix + at, v); });
}

void winograd_weight_gradient(const WinogradMatrices& from,
                              std::int64_t channels,
                              float* dw,
                              bool accumulate) {
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const float* in = matrix_row(from, c);
    transform<WeightGradientTransform>(
        [&](int i, int j) { return load(in + (i * kPoints + j) * from.matrix); },
        [&](int i, int j, Vector v) {
          float* out = dw + (i * WeightGradientTransform::kTo + j) * channels + c;
          store(out, accumulate ? v + load(out) : v);
        });
  }
}
