// Cases that the operation tests of convolutions and linear layers do not cover: operands that are
// not aligned, empty batches, and the choice of plans.
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cuda/conv_plan.h"
#include "framework/kernels/map/map.h"
#include "framework/kernels/product/linear.h"
#include "framework/kernels/reduce/reduce_axes.h"
#include "framework/runtime/cuda/shared_library.h"
#include "framework/runtime/transfer.h"
#include "tests/lab/cuda/oracle.h"
#include "tests/support/compare.h"
#include "tests/support/op_case.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace learn;
using test::drawn;
using test::oracle;
namespace cudnn = learn::cuda::cudnn;

namespace {

constexpr Conv2dOptions kSame = Conv2dOptions::symmetric(1, 1);

/// Half a unit in the last place of the type for the result, and as much for each copy of it.
double tolerance(DType dtype) {
  return dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 2e-3 : 1.6e-2;
}

/// Copies the values to the device, `odd` elements after an aligned address.
Tensor on_device(Context& ctx, const Tensor& host, std::int64_t odd = 0) {
  Tensor aligned = to_device(ctx, ctx.step(), host);
  if (odd == 0) return aligned;
  const Tensor room = ctx.empty({host.elements() + odd}, host.dtype());
  Tensor shifted = room.range(odd, host.elements()).view(host.shape());
  copy(ctx, aligned, shifted);
  return shifted;
}

void check_close(Context& ctx, const Tensor& device, const Tensor& expected) {
  const double allowed = tolerance(expected.dtype());
  const Comparison result = all_close(to_host(ctx, device), expected, allowed, 4 * allowed);
  CHECK_MESSAGE(result, result.text);
}

struct ConvRun {
  Tensor y, dx, dw;
};

/// Forward and both gradients, added to ones, on a device and by the reference.
ConvRun run_conv(
    Context& ctx, const Tensor& x, const Tensor& w, const Tensor& dy, std::int64_t odd) {
  const auto put = [&](const Tensor& host) {
    return ctx.device().is_cuda() ? on_device(ctx, host, odd) : host;
  };
  ConvRun run{put(full(oracle().persistent(), dy.shape(), dy.dtype(), NAN)),
              put(full(oracle().persistent(), x.shape(), x.dtype(), 1)),
              put(full(oracle().persistent(), w.shape(), w.dtype(), 1))};
  kernels::conv2d_forward(ctx, put(x), put(w), {}, run.y, kSame);
  kernels::conv2d_backward_data(ctx, put(dy), put(w), run.dx, kSame, GradMode::accumulate);
  kernels::conv2d_backward_weight(ctx, put(x), put(dy), run.dw, kSame, GradMode::accumulate);
  return run;
}

}  // namespace

TEST_CASE("cuDNN describes the device, and the description is enough to make plans") {
  cudnnHandle_t handle = nullptr;
  cudnn::check_cudnn(cudnn::api().create(&handle), "cannot be started");
  const std::string json = cudnn::DeviceDescription(handle).json();
  cudnn::check_cudnn(cudnn::api().destroy(handle), "cannot be ended");
  std::printf("description: %s\n", json.c_str());  // for the record of a run on a GPU
  CHECK(json.find('\n') == std::string::npos);
  const cudnn::DeviceDescription again{std::string_view(json)};
  CHECK(again.json() == json);
  const cudnn::ConvProblem problem{cudnn::ConvPass::forward,
                                   kernels::conv2d_geometry({2, 5, 4, 8}, {16, 3, 3, 8}, kSame),
                                   DType::f16};
  CHECK(cudnn::find_plans(again, problem, {}).size() == 1);
}

TEST_CASE("operands of a convolution need not be aligned") {
  Context cuda(test::on_cuda());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const Tensor x = drawn({2, 5, 4, 8}, dtype, 1);
    const Tensor w = drawn({16, 3, 3, 8}, dtype, 2);
    const Tensor dy = drawn({2, 5, 4, 16}, dtype, 3);
    const ConvRun expected = run_conv(oracle(), x, w, dy, 0);
    for (const std::int64_t odd : {0, 1}) {
      CAPTURE(odd);
      const ConvRun got = run_conv(cuda, x, w, dy, odd);
      check_close(cuda, got.y, expected.y);
      check_close(cuda, got.dx, expected.dx);
      check_close(cuda, got.dw, expected.dw);
    }
  }
}

TEST_CASE("operands of a linear layer need not be aligned") {
  Context cuda(test::on_cuda());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(name_of(dtype));
    const Tensor x = drawn({6, 24}, dtype, 1);
    const Tensor w = drawn({10, 24}, dtype, 2);
    const Tensor bias = drawn({10}, dtype, 3);
    Tensor expected(oracle().persistent(), {6, 10}, dtype);
    kernels::linear_forward(oracle(), x, w, bias, expected);
    for (const std::int64_t odd : {0, 1}) {
      CAPTURE(odd);
      Tensor y = on_device(cuda, expected, odd);
      kernels::linear_forward(
          cuda, on_device(cuda, x, odd), on_device(cuda, w, odd), on_device(cuda, bias, odd), y);
      check_close(cuda, y, expected);
    }
  }
}

TEST_CASE("a linear layer's bias gradient comes with its weight's") {
  Context cuda(test::on_cuda());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t classes : {8, 10}) {
      CAPTURE(name_of(dtype));
      CAPTURE(classes);
      const Tensor x = drawn({6, 24}, dtype, 1);
      const Tensor dy = drawn({6, classes}, dtype, 2);
      const Tensor ones = full(oracle().persistent(), {classes, 24}, dtype, 1);
      const Tensor nothing = full(oracle().persistent(), {classes}, dtype, NAN);
      Tensor dw = on_device(cuda, ones);
      Tensor db = on_device(cuda, nothing);
      kernels::linear_backward_parameters(cuda,
                                          on_device(cuda, x),
                                          on_device(cuda, dy),
                                          dw,
                                          GradMode::accumulate,
                                          db,
                                          GradMode::overwrite);
      Tensor expected_dw(oracle().persistent(), ones.shape(), dtype);
      Tensor expected_db(oracle().persistent(), nothing.shape(), dtype);
      copy(oracle(), ones, expected_dw);
      kernels::linear_backward_parameters(
          oracle(), x, dy, expected_dw, GradMode::accumulate, expected_db, GradMode::overwrite);
      check_close(cuda, dw, expected_dw);
      check_close(cuda, db, expected_db);
    }
}

TEST_CASE("an empty batch on the device has no result and zero weight gradients") {
  Context cuda(test::on_cuda());
  const Tensor x = cuda.empty({0, 4, 4, 3}, DType::f16);
  Tensor y = cuda.empty({0, 4, 4, 2}, DType::f16);
  Tensor dx = x;
  const Tensor w = on_device(cuda, drawn({2, 3, 3, 3}, DType::f16, 1));
  kernels::conv2d_forward(cuda, x, w, {}, y, kSame);
  kernels::conv2d_backward_data(cuda, y, w, dx, kSame, GradMode::overwrite);
  Tensor dw = on_device(cuda, drawn({2, 3, 3, 3}, DType::f16, 2));
  kernels::conv2d_backward_weight(cuda, x, y, dw, kSame, GradMode::overwrite);
  CHECK(same_bits(to_host(cuda, dw), zeros(oracle().step(), dw.shape(), DType::f16)).equal);
  const Tensor rows = cuda.empty({0, 5}, DType::f32);
  const Tensor d_rows = cuda.empty({0, 3}, DType::f32);
  Tensor dw_linear = on_device(cuda, drawn({3, 5}, DType::f32, 3));
  const Tensor before = to_host(cuda, dw_linear);
  kernels::linear_backward_weight(cuda, rows, d_rows, dw_linear, GradMode::accumulate);
  CHECK(same_bits(to_host(cuda, dw_linear), before).equal);
  kernels::linear_backward_weight(cuda, rows, d_rows, dw_linear, GradMode::overwrite);
  CHECK(same_bits(to_host(cuda, dw_linear), zeros(oracle().step(), {3, 5})).equal);
}

TEST_CASE("a library that is missing, or lacks a function, is named with advice") {
  cuda::SharedLibrary none("libnothing.so.0", "", "nvidia-nothing");
  CHECK_THROWS_WITH_AS((void)none.function<void()>("f"),
                       doctest::Contains("CUDA needs libnothing.so.0: libnothing.so.0: cannot open "
                                         "shared object file: No such file or directory; "),
                       DeviceError);
  cuda::SharedLibrary other("libz.so.1", "", "");
  CHECK_THROWS_WITH_AS((void)other.function<void()>("no_such_function"),
                       doctest::Contains("libz.so.1 has no no_such_function: "),
                       DeviceError);
}

TEST_CASE("f64 is refused on the device, with the reason") {
  Context cuda(test::on_cuda());
  const Tensor x = cuda.empty({1, 4, 4, 8}, DType::f64);
  const Tensor w = cuda.empty({8, 3, 3, 8}, DType::f64);
  Tensor y = x;
  CHECK_THROWS_WITH_AS(kernels::conv2d_forward(cuda, x, w, {}, y, kSame),
                       doctest::Contains("f64 is supported only on the CPU"),
                       DTypeError);
  Tensor single = cuda.empty(x.shape(), DType::f32);
  CHECK_THROWS_WITH_AS(kernels::cast(cuda, x, single),
                       doctest::Contains("cast: f64 is supported only on the CPU"),
                       DTypeError);
  CHECK_THROWS_WITH_AS(kernels::map(cuda, kernels::compile(expr::arg(0)), std::span(&single, 1), x),
                       doctest::Contains("map: f64 is supported only on the CPU"),
                       DTypeError);
  CHECK_THROWS_WITH_AS(kernels::reduce_axes(cuda, kernels::Reduction::sum, x, 1, y),
                       doctest::Contains("reduce_axes: f64 is supported only on the CPU"),
                       DTypeError);
}

TEST_CASE("timed plans give the same results, also for gradients that are added to") {
  ContextOptions options = test::on_cuda();
  options.cuda.tune = true;
  Context cuda(options);
  const Tensor x = drawn({2, 5, 4, 8}, DType::f16, 1);
  const Tensor w = drawn({16, 3, 3, 8}, DType::f16, 2);
  const Tensor dy = drawn({2, 5, 4, 16}, DType::f16, 3);
  const ConvRun expected = run_conv(oracle(), x, w, dy, 0);
  const ConvRun got = run_conv(cuda, x, w, dy, 0);
  check_close(cuda, got.y, expected.y);
  check_close(cuda, got.dx, expected.dx);
  check_close(cuda, got.dw, expected.dw);
}

TEST_CASE("plans are kept in a folder and used again, but never damaged ones") {
  const TemporaryFolder folder;
  const std::string plans = (folder.path() / "plans").string();
  ContextOptions options = test::on_cuda();
  options.cuda.plan_cache = plans;
  const Tensor x = drawn({2, 5, 4, 8}, DType::f16, 1);
  const Tensor w = drawn({16, 3, 3, 8}, DType::f16, 2);
  const Tensor dy = drawn({2, 5, 4, 16}, DType::f16, 3);
  const ConvRun expected = run_conv(oracle(), x, w, dy, 0);
  const auto run_and_check = [&] {
    Context cuda(options);
    const ConvRun got = run_conv(cuda, x, w, dy, 0);
    check_close(cuda, got.y, expected.y);
    check_close(cuda, got.dx, expected.dx);
    check_close(cuda, got.dw, expected.dw);
  };
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(plans))
      found.push_back(entry.path());
    return found;
  };
  run_and_check();
  REQUIRE(files().size() == 3);  // one for each pass
  const auto written = std::filesystem::last_write_time(files()[0]);
  run_and_check();
  CHECK(files().size() == 3);
  CHECK(std::filesystem::last_write_time(files()[0]) == written);
  // Truncated in the middle of the plan, after the key.
  for (const auto& file : files())
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
  run_and_check();
  // Another key in the same place.
  for (const auto& file : files()) std::ofstream(file) << "learn convolution plan 0\n{}";
  run_and_check();
  options.winograd = false;
  run_and_check();
  CHECK(files().size() == 6);  // no pass takes a plan that may use it
}
