// The matrices of Winograd's algorithm, made at compile time.

/// A linear map of kTo values from kFrom.
template <int kTo, int kFrom>
struct Matrix {
  static constexpr int kRows = kTo, kColumns = kFrom;
  double at[kTo][kFrom] = {};
};

template <int kTo, int kFrom>
constexpr Matrix<kFrom, kTo> transposed(const Matrix<kTo, kFrom>& m) {
  Matrix<kFrom, kTo> t;
  for (int i = 0; i < kTo; ++i)
    for (int j = 0; j < kFrom; ++j) t.at[j][i] = m.at[i][j];
  return t;
}

/// Along one axis, kResults results of a window of kTaps are output * (input * pixels, times weight
/// * taps, point by point).
template <int kResults, int kTaps, int kPixels, int kPoints, int kWeightPoints = kPoints>
struct Transforms {
  Matrix<kPoints, kPixels> input;
  Matrix<kWeightPoints, kTaps> weight;  ///< all further points use its last one
  Matrix<kResults, kPoints> output;
};

/// Returns F(kResults, kTaps) by Toom and Cook: polynomials are multiplied at the `points` and at
/// infinity. Lavin & Gray, "Fast algorithms for convolutional neural networks", CVPR 2016.
template <int kResults, int kTaps, int kPoints = kResults + kTaps - 1>
constexpr Transforms<kResults, kTaps, kPoints, kPoints> toom_cook(
    const double (&points)[kPoints - 1]) {
  Transforms<kResults, kTaps, kPoints, kPoints> t;
  constexpr int kLast = kPoints - 1;
  for (int point = 0; point < kPoints; ++point) {
    double product[kPoints] = {1};  // coefficients of the product of (x - other), lowest first
    double denominator = 1;
    int degree = 0;
    for (int other = 0; other < kLast; ++other) {
      if (other == point) continue;
      ++degree;
      for (int i = degree; i >= 0; --i)
        product[i] = (i > 0 ? product[i - 1] : 0) - points[other] * product[i];
      if (point < kLast) denominator *= points[point] - points[other];
    }
    for (int i = 0; i < kPoints; ++i) t.input.at[point][i] = product[i];
    double power = 1;
    for (int i = 0; i < (kResults > kTaps ? kResults : kTaps); ++i) {
      if (i < kResults) t.output.at[i][point] = point < kLast ? power : i == kResults - 1;
      if (i < kTaps) t.weight.at[point][i] = point < kLast ? power / denominator : i == kTaps - 1;
      if (point < kLast) power *= points[point];
    }
  }
  return t;
}

// The points are those with the smallest errors of several tried: of F(4,3), half of the usual
// 0, 1, -1, 2, -2.
constexpr double kFivePoints[] = {0, 1, -1, 2, -0.5};
constexpr double kFourPoints[] = {0, 1, -1, 2};

/// A variant. The input's gradient is a convolution with the window reversed. If the window moves
/// by one pixel, it has the same transforms.
struct Window3 {
  static constexpr int kStride = 1;
  static constexpr auto kForward = toom_cook<4, 3>(kFivePoints);
};
struct Window5 {
  static constexpr int kStride = 1;
  static constexpr auto kForward = toom_cook<2, 5>(kFivePoints);
};

constexpr auto kTwoTaps = toom_cook<4, 2>(kFourPoints);

/// Three taps that move by two pixels are two taps over the even pixels, by F(4,2), plus one tap
/// over the odd ones.
constexpr Transforms<4, 3, 9, 9, 6> strided_forward() {
  Transforms<4, 3, 9, 9, 6> t;
  for (int point = 0; point < 5; ++point) {
    for (int i = 0; i < 5; ++i) t.input.at[point][2 * i] = kTwoTaps.input.at[point][i];
    for (int i = 0; i < 2; ++i) t.weight.at[point][2 * i] = kTwoTaps.weight.at[point][i];
    for (int i = 0; i < 4; ++i) t.output.at[i][point] = kTwoTaps.output.at[i][point];
  }
  t.weight.at[5][1] = 1;
  for (int i = 0; i < 4; ++i) t.input.at[5 + i][2 * i + 1] = t.output.at[i][5 + i] = 1;
  return t;
}

/// Pixels in turns get their gradients from one result and from two: eight pixels from five
/// results.
constexpr Transforms<8, 3, 5, 9, 6> strided_backward() {
  Transforms<8, 3, 5, 9, 6> t;
  t.weight = strided_forward().weight;
  for (int point = 0; point < 5; ++point) {
    for (int i = 0; i < 5; ++i) t.input.at[point][i] = kTwoTaps.input.at[point][i];
    for (int i = 0; i < 4; ++i) t.output.at[2 * i + 1][point] = kTwoTaps.output.at[i][point];
  }
  for (int i = 0; i < 4; ++i) t.input.at[5 + i][i] = t.output.at[2 * i][5 + i] = 1;
  return t;
}

struct StridedWindow3 {
  static constexpr int kStride = 2;
  static constexpr auto kForward = strided_forward();
  static constexpr auto kBackward = strided_backward();
};
