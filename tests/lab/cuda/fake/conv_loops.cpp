#include "tests/lab/cuda/fake/conv_loops.h"

#include "tests/lab/cuda/fake/dense_tensor.h"

#include <cstddef>

namespace fakecuda {
namespace {

/// Calls `body(x row, weight row, y element)`, offsets into the arrays, for each output element and
/// each window position inside the image: a row is the channels of one group at one position.
template <class Body>
void for_each_row(const ConvSizes& z, Body&& body) {
  const std::int64_t inputs = z.c / z.groups;
  const std::int64_t outputs = z.k / z.groups;
  // The order of the sums: a hostile library adds in reverse.
  const auto ordered = [](std::int64_t i, std::int64_t count) {
    return hostile_libraries() ? count - 1 - i : i;
  };
  for (std::int64_t i = 0; i < z.r; ++i)
    for (std::int64_t j = 0; j < z.s; ++j)
      for (std::int64_t m = 0; m < z.n; ++m)
        for (std::int64_t p = 0; p < z.p; ++p) {
          const std::int64_t r = ordered(i, z.r);
          const std::int64_t s = ordered(j, z.s);
          const std::int64_t n = ordered(m, z.n);
          const std::int64_t h = p * z.stride[0] + r * z.dilation[0] - z.pad[0];
          if (h < 0 || h >= z.h) continue;
          for (std::int64_t q = 0; q < z.q; ++q) {
            const std::int64_t w = q * z.stride[1] + s * z.dilation[1] - z.pad[1];
            if (w < 0 || w >= z.w) continue;
            const std::int64_t x_pixel = ((n * z.h + h) * z.w + w) * z.c;
            const std::int64_t y_pixel = ((n * z.p + p) * z.q + q) * z.k;
            for (std::int64_t k = 0; k < z.k; ++k)
              body(static_cast<std::size_t>(x_pixel + k / outputs * inputs),
                   static_cast<std::size_t>(((k * z.r + r) * z.s + s) * inputs),
                   static_cast<std::size_t>(y_pixel + k));
          }
        }
}

std::size_t row_length(const ConvSizes& z) { return static_cast<std::size_t>(z.c / z.groups); }

std::vector<float> zeros(std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n)); }

}  // namespace

std::vector<float> conv_forward(const ConvSizes& z,
                                const std::vector<float>& x,
                                const std::vector<float>& w) {
  std::vector<float> y = zeros(z.n * z.p * z.q * z.k);
  const std::size_t length = row_length(z);
  for_each_row(z, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    float sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += x[xi + i] * w[wi + i];
    y[yi] += sum;
  });
  return y;
}

std::vector<float> conv_backward_data(const ConvSizes& z,
                                      const std::vector<float>& dy,
                                      const std::vector<float>& w) {
  std::vector<float> dx = zeros(z.n * z.h * z.w * z.c);
  const std::size_t length = row_length(z);
  for_each_row(z, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    for (std::size_t i = 0; i < length; ++i) dx[xi + i] += dy[yi] * w[wi + i];
  });
  return dx;
}

std::vector<float> conv_backward_weight(const ConvSizes& z,
                                        const std::vector<float>& x,
                                        const std::vector<float>& dy) {
  std::vector<float> dw = zeros(z.k * z.r * z.s * (z.c / z.groups));
  const std::size_t length = row_length(z);
  for_each_row(z, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    for (std::size_t i = 0; i < length; ++i) dw[wi + i] += dy[yi] * x[xi + i];
  });
  return dw;
}

}  // namespace fakecuda
