#include "tests/lab/cuda/fake/rounding.h"
#include "tests/lab/cuda/fake/selftest/opcode_case.h"

#include <cmath>

using namespace fakecuda::selftest;

TEST_CASE("f32 arithmetic") {
  constexpr std::uint64_t kSmall = 0x00000001;  // the least subnormal
  check_all({
      {"add.f32 %r8, %r0, %r1;", {bits(1.5F), bits(2.25F)}, bits(3.75F)},
      {"add.rz.f32 %r8, %r0, %r1;", {bits(1.0F), bits(0x1.8p-24F)}, bits(1.0F)},
      {"add.rp.f32 %r8, %r0, %r1;", {bits(1.0F), bits(0x1p-30F)}, 0x3F800001},
      {"add.rm.f32 %r8, %r0, %r1;", {bits(1.0F), bits(-0x1p-30F)}, 0x3F7FFFFF},
      {"add.f32 %r8, %r0, %r1;", {kInfinity, 0xFF800000}, kNan},
      {"add.ftz.f32 %r8, %r0, %r1;", {kSmall, kSmall}, 0},
      {"add.f32 %r8, %r0, %r1;", {kSmall, kSmall}, 2},
      {"add.sat.f32 %r8, %r0, %r1;", {bits(1.5F), bits(2.0F)}, bits(1.0F)},
      {"sub.f32 %r8, %r0, %r1;", {bits(1.0F), bits(3.0F)}, bits(-2.0F)},
      {"mul.f32 %r8, %r0, 0fC0000000;", {bits(3.0F)}, bits(-6.0F)},
      {"mul.ftz.f32 %r8, %r0, %r1;", {bits(-0x1p-100F), bits(0x1p-40F)}, 0x80000000},
      {"fma.rn.f32 %r8, %r0, %r0, %r1;", {0x3F800003, bits(-1.0F)}, 0x35400002},
      {"fma.rm.f32 %r8, %r0, %r1, %r2;", {bits(1.0F), bits(0x1p-30F), bits(1.0F)}, bits(1.0F)},
      {"fma.rn.sat.f32 %r8, %r0, %r1, %r2;", {bits(-1.0F), bits(2.0F), bits(1.0F)}, 0},
      {"fma.rn.sat.f32 %r8, %r0, %r1, %r2;", {kNan, bits(2.0F), bits(1.0F)}, 0},
      {"div.rn.f32 %r8, %r0, %r1;", {bits(1.0F), bits(3.0F)}, 0x3EAAAAAB},
      {"div.full.f32 %r8, %r0, %r1;", {bits(6.0F), bits(3.0F)}, bits(2.0F)},
      {"div.approx.ftz.f32 %r8, %r0, %r1;", {kSmall, bits(1.0F)}, 0},
      {"rcp.rn.f32 %r8, %r0;", {bits(4.0F)}, bits(0.25F)},
      {"rcp.approx.ftz.f32 %r8, %r0;", {0}, kInfinity},
      {"sqrt.rn.f32 %r8, %r0;", {bits(2.0F)}, 0x3FB504F3},
      {"sqrt.approx.f32 %r8, %r0;", {bits(9.0F)}, bits(3.0F)},
      {"rsqrt.approx.f32 %r8, %r0;", {bits(4.0F)}, bits(0.5F)},
      {"rsqrt.approx.ftz.f32 %r8, %r0;", {bits(-1.0F)}, kNan},
      {"ex2.approx.ftz.f32 %r8, %r0;", {bits(-3.0F)}, bits(0.125F)},
      {"ex2.approx.f32 %r8, %r0;", {bits(-149.0F)}, kSmall},
      {"ex2.approx.ftz.f32 %r8, %r0;", {bits(-149.0F)}, 0},
      {"lg2.approx.f32 %r8, %r0;", {bits(0.125F)}, bits(-3.0F)},
      {"lg2.approx.ftz.f32 %r8, %r0;", {0}, 0xFF800000},
      {"sin.approx.f32 %r8, %r0;", {0}, 0},
      {"cos.approx.f32 %r8, %r0;", {0}, bits(1.0F)},
      {"tanh.approx.f32 %r8, %r0;", {kInfinity}, bits(1.0F)},
      {"neg.f32 %r8, %r0;", {bits(1.0F)}, bits(-1.0F)},
      {"neg.ftz.f32 %r8, %r0;", {kSmall}, 0x80000000},
      {"abs.f32 %r8, %r0;", {bits(-1.0F)}, bits(1.0F)},
      {"copysign.f32 %r8, %r0, %r1;", {bits(-1.0F), bits(2.0F)}, bits(-2.0F)},
      {"min.f32 %r8, %r0, %r1;", {kNan, bits(2.0F)}, bits(2.0F)},
      {"min.NaN.f32 %r8, %r0, %r1;", {kNan, bits(2.0F)}, kNan},
      {"max.f32 %r8, %r0, %r1;", {0x80000000, 0}, 0},
      {"min.f32 %r8, %r0, %r1;", {0, 0x80000000}, 0x80000000},
      {"max.NaN.f32 %r8, %r0, %r1;", {bits(3.0F), bits(2.0F)}, bits(3.0F)},
      {"max.f32 %r8, %r0, %r1;", {kNan, kNan}, kNan},
      {"add.f64 %d8, %d0, %d1;", {0x3FF0000000000000, 0x3FF0000000000000}, 0x4000000000000000},
      {"fma.rn.f64 %d8, %d0, %d0, %d0;", {0x3FF0000000000000}, 0x4000000000000000},
      {"sqrt.rn.f64 %d8, %d0;", {0x4010000000000000}, 0x4000000000000000},
  });
}

TEST_CASE("half and bfloat arithmetic") {
  check_all({
      {"add.f16 %h8, %h0, %h1;", {0x3C00, 0x4000}, 0x4200},
      {"add.rn.f16 %h8, %h0, %h1;", {0x7BFF, 0x7BFF}, 0x7C00},
      {"sub.f16 %h8, %h0, %h1;", {0x0001, 0x0002}, 0x8001},
      {"mul.f16 %h8, %h0, %h1;", {0x3C01, 0x3C01}, 0x3C02},
      {"fma.rn.f16 %h8, %h0, %h1, %h2;", {0x3C01, 0x3C01, 0xBC02}, 0x0010},
      {"fma.rn.relu.f16 %h8, %h0, %h1, %h2;", {0x3C00, 0x3C00, 0xC000}, 0x0000},
      {"fma.rn.sat.f16 %h8, %h0, %h1, %h2;", {0x3C00, 0x3C00, 0x4000}, 0x3C00},
      {"add.f16x2 %r8, %r0, %r1;", {0x3C004000, 0x3C003C00}, 0x40004200},
      {"mul.f16x2 %r8, %r0, %r1;", {0x3C004000, 0x40003800}, 0x40003C00},
      {"fma.rn.f16x2 %r8, %r0, %r1, %r2;", {0x3C003C00, 0x40004000, 0x3C00BC00}, 0x42003C00},
      {"max.f16 %h8, %h0, %h1;", {0x7FFF, 0x3C00}, 0x3C00},
      {"max.NaN.f16 %h8, %h0, %h1;", {0x7FFF, 0x3C00}, 0x7FFF},
      {"min.f16x2 %r8, %r0, %r1;", {0x3C004000, 0x40003C00}, 0x3C003C00},
      {"neg.f16 %h8, %h0;", {0x3C00}, 0xBC00},
      {"abs.f16x2 %r8, %r0;", {0xBC00C000}, 0x3C004000},
      {"add.rn.bf16 %h8, %h0, %h1;", {0x3F80, 0x3F80}, 0x4000},
      {"mul.rn.bf16 %h8, %h0, %h1;", {0x3F81, 0x3F81}, 0x3F82},
      {"fma.rn.bf16 %h8, %h0, %h1, %h2;", {0x3F80, 0x4000, 0x3F80}, 0x4040},
      {"fma.rn.bf16x2 %r8, %r0, %r1, %r2;", {0x3F803F80, 0x40003F80, 0x3F803F80}, 0x40404000},
      {"min.bf16x2 %r8, %r0, %r1;", {0x3F804000, 0x40003F80}, 0x3F803F80},
      {"neg.bf16 %h8, %h0;", {0x3F80}, 0xBF80},
      {"ex2.approx.f16 %h8, %h0;", {0x4000}, 0x4400},
      {"tanh.approx.f16 %h8, %h0;", {0x7C00}, 0x3C00},
  });
}

TEST_CASE("conversions") {
  check_all({
      {"cvt.rn.f16.f32 %h8, %r0;", {bits(65519.99F)}, 0x7BFF},
      {"cvt.rn.f16.f32 %h8, %r0;", {bits(65520.0F)}, 0x7C00},
      {"cvt.rz.f16.f32 %h8, %r0;", {bits(1e6F)}, 0x7BFF},
      {"cvt.rn.f16.f32 %h8, %r0;", {bits(0x1p-25F)}, 0x0000},
      {"cvt.rn.f16.f32 %h8, %r0;", {bits(0x1.8p-25F)}, 0x0001},
      {"cvt.rn.f16.f32 %h8, %r0;", {kNan}, 0x7FFF},
      {"cvt.f32.f16 %r8, %h0;", {0x0001}, bits(0x1p-24F)},
      {"cvt.f32.f16 %r8, %h0;", {0xFC00}, 0xFF800000},
      {"cvt.rn.bf16.f32 %h8, %r0;", {0x3F808000}, 0x3F80},
      {"cvt.rn.bf16.f32 %h8, %r0;", {0x3F818000}, 0x3F82},
      {"cvt.rn.bf16.f32 %h8, %r0;", {0x7F7FFFFF}, 0x7F80},
      {"cvt.f32.bf16 %r8, %h0;", {0x3F80}, bits(1.0F)},
      {"cvt.rn.f16x2.f32 %r8, %r0, %r1;", {bits(1.0F), bits(2.0F)}, 0x3C004000},
      {"cvt.rn.bf16x2.f32 %r8, %r0, %r1;", {bits(1.0F), bits(2.0F)}, 0x3F804000},
      {"cvt.rn.relu.f16x2.f32 %r8, %r0, %r1;", {bits(-1.0F), bits(2.0F)}, 0x00004000},
      {"cvt.rn.f32.s32 %r8, %r0;", {0xFFFFFFFF}, bits(-1.0F)},
      {"cvt.rn.f32.u32 %r8, %r0;", {0xFFFFFFFF}, bits(4294967296.0F)},
      {"cvt.rz.f32.u32 %r8, %r0;", {0xFFFFFFFF}, 0x4F7FFFFF},
      {"cvt.rn.f32.u64 %r8, %d0;", {0x8000008000000001}, 0x5F000001},
      {"cvt.rn.f32.s64 %r8, %d0;", {kMinus}, bits(-1.0F)},
      {"cvt.rn.f32.u8 %r8, %h0;", {0x1FF}, bits(255.0F)},
      {"cvt.rn.f16.s32 %h8, %r0;", {0xFFFFFFFE}, 0xC000},
      {"cvt.rn.f16.u16 %h8, %h0;", {2}, 0x4000},
      {"cvt.rzi.s32.f32 %r8, %r0;", {bits(-1.9F)}, 0xFFFFFFFF},
      {"cvt.rni.s32.f32 %r8, %r0;", {bits(2.5F)}, 2},
      {"cvt.rmi.s32.f32 %r8, %r0;", {bits(-1.1F)}, 0xFFFFFFFE},
      {"cvt.rpi.s32.f32 %r8, %r0;", {bits(1.1F)}, 2},
      {"cvt.rzi.s32.f32 %r8, %r0;", {bits(1e20F)}, 0x7FFFFFFF},
      {"cvt.rzi.u32.f32 %r8, %r0;", {bits(-5.0F)}, 0},
      {"cvt.rzi.s32.f32 %r8, %r0;", {kNan}, 0},
      {"cvt.rzi.s64.f32 %d8, %r0;", {bits(-3.5F)}, 0xFFFFFFFFFFFFFFFD},
      {"cvt.rzi.u64.f32 %d8, %r0;", {bits(0x1p40F)}, 0x10000000000},
      {"cvt.rzi.s32.f16 %r8, %h0;", {0xC100}, 0xFFFFFFFE},
      {"cvt.rni.f32.f32 %r8, %r0;", {bits(2.5F)}, bits(2.0F)},
      {"cvt.rmi.f32.f32 %r8, %r0;", {bits(-2.5F)}, bits(-3.0F)},
      {"cvt.rzi.f32.f32 %r8, %r0;", {bits(-2.5F)}, bits(-2.0F)},
      {"cvt.sat.f32.f32 %r8, %r0;", {bits(2.5F)}, bits(1.0F)},
      {"cvt.ftz.f32.f32 %r8, %r0;", {1}, 0},
      {"cvt.f64.f32 %d8, %r0;", {bits(1.0F)}, 0x3FF0000000000000},
      {"cvt.rn.f32.f64 %r8, %d0;", {0x3FF0000010000001}, 0x3F800001},
      {"cvt.u32.u64 %r8, %d0;", {0x1122334455667788}, 0x55667788},
      {"cvt.s64.s32 %d8, %r0;", {0xFFFFFFFF}, kMinus},
      {"cvt.u64.u32 %d8, %r0;", {0xFFFFFFFF}, 0xFFFFFFFF},
      {"cvt.s32.s8 %r8, %r0;", {0x1FF}, 0xFFFFFFFF},
      {"cvt.u32.u8 %r8, %r0;", {0x1FF}, 0xFF},
      {"cvt.u16.u32 %h8, %r0;", {0x12345}, 0x2345},
      {"cvt.s16.s8 %h8, %h0;", {0x80}, 0xFF80},
      {"cvt.sat.u8.s32 %r8, %r0;", {300}, 255},
      {"cvt.sat.u8.s32 %r8, %r0;", {0xFFFFFFF0}, 0},
  });
}

TEST_CASE("roundings agree with the machine's own over many numbers") {
  // f64 to f32 is done by the processor as well; a generator of numbers with all exponents.
  std::uint64_t state = 0x9E3779B97F4A7C15;
  int compared = 0;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto exponent = static_cast<int>(state >> 55U) % 290 - 150;
    const double x =
        std::ldexp(1.0 + static_cast<double>(state & 0xFFFFFFFFFFFFF) * 0x1p-52, exponent);
    const auto machine = static_cast<float>(x);
    const double ours = fakecuda::round_to(x, fakecuda::kSingle, fakecuda::Rounding::nearest);
    compared += static_cast<double>(machine) == ours ? 1 : 0;
  }
  CHECK(compared == 200000);
  // Every f16 is its own rounding, and comes back to its bits.
  int same = 0;
  for (unsigned half = 0; half < 0x7C00; ++half) {
    const double value = fakecuda::f16_to_float(static_cast<std::uint16_t>(half));
    same += fakecuda::f16_of(fakecuda::round_to(value, fakecuda::kHalf, fakecuda::Rounding::up)) ==
            half;
  }
  CHECK(same == 0x7C00);
}
