#include "framework/kernels/elementwise/elementwise.h"

#include "framework/kernels/activation/activation.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;

namespace {

// Odd sizes leave a tail after the packs; the last spans several blocks.
constexpr std::int64_t kSizes[] = {0, 1, 7, 8, 129, 100003};

/// One unit in the last place of the type, and half of one for a second rounding.
double tolerance(DType dtype) {
  return dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 1e-3 : 8e-3;
}

}  // namespace

TEST_CASE("activations on the device agree with the reference") {
  Context cuda({.device = Device::cuda()});
  Context oracle({.reference = true});
  for (const std::int64_t n : kSizes)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const NamedActivation& act : kActivations)
        for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
          CAPTURE(n);
          CAPTURE(name_of(dtype));
          CAPTURE(act.name);
          const Tensor x = uniform(oracle.persistent(), {n}, dtype, -4, 4, 1);
          const Tensor dy = uniform(oracle.persistent(), {n}, dtype, -1, 1, 2);
          Tensor y(oracle.persistent(), {n}, dtype);
          Tensor dx = uniform(oracle.persistent(), {n}, dtype, -1, 1, 3);
          Tensor device_x = to_device(cuda, cuda.step(), x);
          Tensor device_dy = to_device(cuda, cuda.step(), dy);
          Tensor device_y = cuda.empty({n}, dtype);
          Tensor device_dx = to_device(cuda, cuda.step(), dx);
          kernels::activation_forward(oracle, act.kind, x, y);
          kernels::activation_backward(oracle, act.kind, x, dy, dx, mode);
          kernels::activation_forward(cuda, act.kind, device_x, device_y);
          kernels::activation_backward(cuda, act.kind, device_x, device_dy, device_dx, mode);
          const Comparison forward = all_close(to_host(cuda, device_y), y, tolerance(dtype), 1e-6);
          CHECK_MESSAGE(forward, forward.text);
          const Comparison backward =
              all_close(to_host(cuda, device_dx), dx, 2 * tolerance(dtype), tolerance(dtype));
          CHECK_MESSAGE(backward, backward.text);
        }
}

TEST_CASE("casts on the device equal the host's, bit for bit") {
  Context cuda({.device = Device::cuda()});
  Context host;
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor x = uniform(host.persistent(), {1001}, from, -70000, 70000, 4);
      Tensor expected(host.persistent(), {1001}, to);
      kernels::cast(host, x, expected);
      Tensor y = cuda.empty({1001}, to);
      kernels::cast(cuda, to_device(cuda, cuda.step(), x), y);
      const Comparison same = same_bits(to_host(cuda, y), expected);
      CHECK_MESSAGE(same, same.text);
    }
}

TEST_CASE("a dropout mask on the device may start at any element, as the host's") {
  Context cuda({.device = Device::cuda()});
  Context host({.device = Device::cpu()});
  constexpr std::int64_t kElements = 1001;
  // Far from zero, so that a zero is an element that was dropped.
  const Tensor x = uniform(host.persistent(), {kElements}, DType::f32, 1, 2, 5);
  const Tensor batch = full(host.persistent(), {1}, DType::i64, 7);
  Tensor whole(host.persistent(), {kElements}, DType::f32);
  kernels::dropout(host, {.p = 0.4, .batch = batch, .stream = 3}, x, whole);
  for (const std::int64_t first : {0, 1, 500, 1000}) {
    CAPTURE(first);
    const std::int64_t count = kElements - first;
    Tensor y = cuda.empty({count}, DType::f32);
    kernels::dropout(
        cuda,
        {.p = 0.4, .batch = to_device(cuda, cuda.step(), batch), .stream = 3, .first = first},
        to_device(cuda, cuda.step(), x.range(first, count)),
        y);
    const Comparison same =
        all_close(to_host(cuda, y), whole.range(first, count), tolerance(DType::f32), 0);
    CHECK_MESSAGE(same, same.text);
  }
}

TEST_CASE("fill reaches every element of every type") {
  Context cuda({.device = Device::cuda()});
  for (const DType dtype : {DType::f32, DType::f16, DType::i64, DType::u8}) {
    Tensor x = cuda.empty({1001}, dtype);
    kernels::fill(cuda, x, 3);
    const Tensor read = to_host(cuda, x);
    for (const std::int64_t i : {0, 500, 1000}) CHECK(get(read, i) == 3);
  }
}
