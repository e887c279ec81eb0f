#include "framework/kernels/product/cuda/linear.h"

#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/common/cuda/staging.h"
#include "framework/kernels/common/padded_channels.h"
#include "framework/kernels/product/cuda/matmul.h"
#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace learn::cuda {
namespace {

using cublas::Epilogue;
using cublas::MatmulProblem;

/// Returns the features after padding. Tensor cores need rows of 16 bytes, so the 10 classes of a
/// head in f16 are padded with zeros to 16.
std::int64_t padded(std::int64_t features, DType dtype) {
  return is_half(dtype) ? padded_half_channels(features) : features;
}

/// The shapes of the operands with padded features.
struct StagedShapes {
  std::int64_t c, k;  // padded
  StagedShape x, w, y, bias;
  StagedShapes(const LinearGeometry& g, DType dtype)
      : c(padded(g.c, dtype)),
        k(padded(g.k, dtype)),
        x{g.count * g.n, g.c, c, g.count * g.n},
        w{g.count * g.k, g.c, c, g.count * k},
        y{g.count * g.n, g.k, k, g.count * g.n},
        bias{1, g.k, k, 1} {}
};

/// Returns whether the library can compute all products in one call. This requires operands without
/// padding and matrices that are aligned to 16 bytes.
bool in_one_call(const LinearGeometry& g, DType dtype) {
  const auto aligned = [&](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(size_of(dtype)) % 16 == 0;
  };
  return g.count == 1 || (padded(g.c, dtype) == g.c && padded(g.k, dtype) == g.k &&
                          aligned(g.n * g.c) && aligned(g.k * g.c) && aligned(g.n * g.k));
}

const void* element(const void* data, DType dtype, std::int64_t i) {
  return static_cast<const std::byte*>(data) + i * static_cast<std::int64_t>(size_of(dtype));
}
void* element(void* data, DType dtype, std::int64_t i) {
  return static_cast<std::byte*>(data) + i * static_cast<std::int64_t>(size_of(dtype));
}

/// Calls product(geometry of one, x, w, y) for each product.
template <class X, class W, class Y, class F>
void one_by_one(const LinearGeometry& g, DType dtype, X* x, W* w, Y* y, F product) {
  LinearGeometry one = g;
  one.count = 1;
  for (std::int64_t i = 0; i < g.count; ++i)
    product(one,
            element(x, dtype, i * g.n * g.c),
            element(w, dtype, i * g.k * g.c),
            element(y, dtype, i * g.n * g.k));
}

/// Adds bias to y in each of n rows of k, for products that cannot add it themselves.
void add_in_place(
    Stream stream, DType dtype, const void* bias, void* y, std::int64_t n, std::int64_t k) {
  visit_floating(dtype, [&]<class T>() {
    if constexpr (sizeof(T) < sizeof(double))
      add_bias(
          stream, static_cast<const T*>(y), static_cast<const T*>(bias), static_cast<T*>(y), n, k);
  });
}

}  // namespace

// cuBLAS is column-major: each of our (rows, columns) is its (columns x rows), and products swap
// their factors.

struct Linears::Impl {
  cublas::Matmuls matmuls;
  explicit Impl(const CudaOptions& options) : matmuls(options) {}

  void run(const Exec& exec, const MatmulProblem& problem, const void* a, const void* b, void* d) {
    if (!matmuls.run(exec, problem, a, b, d))
      fail<DeviceError>("cuBLASLt has no algorithm for {} product{} of {} matrices, {}x{}x{}",
                        problem.count,
                        problem.count == 1 ? "" : "s",
                        name_of(problem.dtype),
                        problem.m,
                        problem.n,
                        problem.k);
  }
};

Linears::Linears() = default;
Linears::~Linears() = default;

Linears::Impl& Linears::ready(const Exec& exec) {
  if (!impl_) impl_ = std::make_unique<Impl>(exec.options);
  return *impl_;
}

void Linears::forward(const Exec& exec,
                      const LinearGeometry& g,
                      DType dtype,
                      const void* x,
                      const void* w,
                      const void* bias,
                      void* y) {
  if (g.count * g.n == 0) return;
  if (!in_one_call(g, dtype))
    return one_by_one(g, dtype, x, w, y, [&](const auto& one, auto* xi, auto* wi, auto* yi) {
      forward(exec, one, dtype, xi, wi, bias, yi);
    });
  const StagedShapes shapes(g, dtype);
  const StagedInput in(exec.stream, exec.workspace, dtype, x, shapes.x);
  const StagedInput weight(exec.stream, exec.workspace, dtype, w, shapes.w);
  const StagedInput added(exec.stream, exec.workspace, dtype, bias, shapes.bias);
  StagedOutput out(exec.stream, exec.workspace, dtype, y, shapes.y);
  MatmulProblem problem{.count = g.count,
                        .m = shapes.k,
                        .n = g.n,
                        .k = shapes.c,
                        .transpose_a = true,
                        .lda = shapes.c,
                        .ldb = shapes.c,
                        .ldd = shapes.k,
                        .dtype = dtype,
                        .epilogue = Epilogue::bias};
  if (bias == nullptr ||
      !ready(exec).matmuls.run(exec, problem, weight.data(), in.data(), out.data(), added.data())) {
    problem.epilogue = Epilogue::none;
    ready(exec).run(exec, problem, weight.data(), in.data(), out.data());
    if (bias != nullptr) add_in_place(exec.stream, dtype, added.data(), out.data(), g.n, shapes.k);
  }
  out.finish(GradMode::overwrite);
}

void Linears::backward_data(const Exec& exec,
                            const LinearGeometry& g,
                            DType dtype,
                            const void* dy,
                            const void* w,
                            void* dx,
                            GradMode mode) {
  if (g.count * g.n == 0) return;
  if (!in_one_call(g, dtype))
    return one_by_one(g, dtype, dx, w, dy, [&](const auto& one, auto* dxi, auto* wi, auto* dyi) {
      backward_data(exec, one, dtype, dyi, wi, dxi, mode);
    });
  const StagedShapes shapes(g, dtype);
  const StagedInput in(exec.stream, exec.workspace, dtype, dy, shapes.y);
  const StagedInput weight(exec.stream, exec.workspace, dtype, w, shapes.w);
  StagedOutput out(exec.stream, exec.workspace, dtype, dx, shapes.x);
  ready(exec).run(exec,
                  {.count = g.count,
                   .m = shapes.c,
                   .n = g.n,
                   .k = shapes.k,
                   .lda = shapes.c,
                   .ldb = shapes.k,
                   .ldd = shapes.c,
                   .dtype = dtype,
                   .accumulate = mode == GradMode::accumulate && out.in_place()},
                  weight.data(),
                  in.data(),
                  out.data());
  out.finish(mode);
}

bool Linears::backward_weight(const Exec& exec,
                              const LinearGeometry& g,
                              DType dtype,
                              const void* x,
                              const void* dy,
                              void* dw,
                              GradMode mode,
                              void* db) {
  if (g.count * g.n == 0) {  // an empty sum
    const auto bytes = static_cast<std::size_t>(g.count * g.k * g.c) * size_of(dtype);
    if (mode == GradMode::overwrite) check_api(cudaMemsetAsync(dw, 0, bytes, exec.stream));
    return false;
  }
  if (!in_one_call(g, dtype)) {
    one_by_one(g, dtype, x, dw, dy, [&](const auto& one, auto* xi, auto* dwi, auto* dyi) {
      (void)backward_weight(exec, one, dtype, xi, dyi, dwi, mode, nullptr);
    });
    return false;
  }
  const StagedShapes shapes(g, dtype);
  const StagedInput in(exec.stream, exec.workspace, dtype, x, shapes.x);
  const StagedInput gradient(exec.stream, exec.workspace, dtype, dy, shapes.y);
  StagedOutput out(exec.stream, exec.workspace, dtype, dw, shapes.w);
  MatmulProblem problem{.count = g.count,
                        .m = shapes.c,
                        .n = shapes.k,
                        .k = g.n,
                        .transpose_b = true,
                        .lda = shapes.c,
                        .ldb = shapes.k,
                        .ldd = shapes.c,
                        .dtype = dtype,
                        .accumulate = mode == GradMode::accumulate && out.in_place()};
  bool with_sums = false;
  if (db != nullptr) {
    StagedOutput sums(exec.stream, exec.workspace, dtype, db, shapes.bias);
    problem.epilogue = Epilogue::sum_columns_b;
    with_sums =
        ready(exec).matmuls.run(exec, problem, in.data(), gradient.data(), out.data(), sums.data());
    if (with_sums) sums.finish(GradMode::overwrite);
    problem.epilogue = Epilogue::none;
  }
  if (!with_sums) ready(exec).run(exec, problem, in.data(), gradient.data(), out.data());
  out.finish(mode);
  return with_sums;
}

}  // namespace learn::cuda
