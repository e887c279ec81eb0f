#include "tests/lab/cuda/fake/selftest/child.h"
#include "tests/lab/cuda/fake/selftest/opcode_case.h"
#include "tests/lab/cuda/fake/stop.h"

#include <array>

using namespace fakecuda;
using namespace fakecuda::selftest;

TEST_CASE("loads and stores") {
  check_all({
      {"ld.global.u8 %r8, [%d14+1];", {0x8182}, 0x81},
      {"ld.global.s8 %r8, [%d14+1];", {0x8182}, 0xFFFFFF81},
      {"ld.global.u16 %h8, [%d14];", {0x8182}, 0x8182},
      {"ld.global.s16 %r8, [%d14];", {0x8182}, 0xFFFF8182},
      {"ld.global.nc.b32 %r8, [%d14+4];", {0x1122334455667788}, 0x11223344},
      {"ld.global.v2.b32 {%r1, %r8}, [%d14];", {0x1122334455667788}, 0x11223344},
      {"ld.global.v4.u16 {%h1, %h2, %h3, %h8}, [%d14];", {0x1122334455667788}, 0x1122},
      {
          "ld.global.v4.b32 {%r1, %r2, %r3, %r8}, [%d14];",
          {1, 0x0000000700000002},
          7,
      },
      {"ld.global.L1::no_allocate.b32 %r8, [%d14];", {5}, 5},
      {"ld.volatile.global.b32 %r8, [%d14];", {5}, 5},
      {"ld.b32 %r8, [%d14];", {5}, 5},
      {"ld.param.b32 %r8, [in+4]; shr.u32 %r8, %r8, 16; sub.u32 %r8, %r8, %r8;", {}, 0},
      {"cvta.to.global.u64 %d1, %d14; ld.global.b64 %d8, [%d1];", {9}, 9},
  });
}

TEST_CASE("shared, local and constant memory") {
  const auto run = [](const std::string& statements, const std::string& declarations) {
    return run_ptx(statements, {5}, 1, declarations)[0];
  };
  CHECK(run(".shared .align 4 .b8 box[16]; st.shared.b32 [box+4], %r0; ld.shared.b32 %r8, [box+4];",
            "") == 5);
  CHECK(run("mov.u32 %r1, box; st.shared.u8 [%r1], %r0; ld.shared.s8 %r8, [%r1];",
            ".shared .align 4 .b8 box[16];") == 5);
  CHECK(run(".shared .u64 one; mov.u64 %d1, one; cvta.shared.u64 %d2, %d1; st.b64 [%d2], %d0; "
            "ld.shared.b64 %d8, [one];",
            "") == 5);
  CHECK(run(".local .align 8 .b8 depot[16]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; "
            "st.b64 [%d2+8], %d0; ld.local.b64 %d8, [depot+8];",
            "") == 5);
  CHECK(run("ld.global.b32 %r8, [table+8];", ".global .align 4 .u32 table[4] = {1, 2, 3};") == 3);
  CHECK(run("ld.const.b32 %r8, [table+12];", ".const .align 4 .u32 table[4] = {1, 2, 3};") == 0);
}

TEST_CASE("atomics") {
  const auto run = [](const std::string& operation, std::uint64_t old, std::uint64_t operand) {
    const std::string text = ".shared .align 8 .b8 box[8]; st.shared.b64 [box], %d0;\n" + operation;
    return run_ptx(text, {old, operand})[0];
  };
  const std::string after = " ld.shared.b32 %r8, [box];";
  CHECK(run("atom.shared.add.u32 %r8, [box], %r1;", 5, 7) == 5);
  CHECK(run("atom.shared.add.u32 %r2, [box], %r1;" + after, 5, 7) == 12);
  CHECK(run("red.shared.add.f32 [box], %r1;" + after, bits(1.5F), bits(2.0F)) == bits(3.5F));
  CHECK(run("red.shared.max.s32 [box], %r1;" + after, 0xFFFFFFFF, 7) == 7);
  CHECK(run("red.shared.max.u32 [box], %r1;" + after, 0xFFFFFFFF, 7) == 0xFFFFFFFF);
  CHECK(run("red.shared.min.s32 [box], %r1;" + after, 0xFFFFFFFF, 7) == 0xFFFFFFFF);
  CHECK(run("red.shared.or.b32 [box], %r1;" + after, 0xF0, 0x0F) == 0xFF);
  CHECK(run("red.shared.and.b32 [box], %r1;" + after, 0xF0, 0x3C) == 0x30);
  CHECK(run("red.shared.xor.b32 [box], %r1;" + after, 0xF0, 0xFF) == 0x0F);
  CHECK(run("atom.shared.exch.b32 %r2, [box], %r1;" + after, 5, 7) == 7);
  CHECK(run("atom.shared.cas.b32 %r2, [box], 5, %r1;" + after, 5, 7) == 7);
  CHECK(run("atom.shared.cas.b32 %r2, [box], 6, %r1;" + after, 5, 7) == 5);
  CHECK(run("atom.shared.inc.u32 %r2, [box], %r1;" + after, 7, 7) == 0);
  CHECK(run("atom.shared.dec.u32 %r2, [box], %r1;" + after, 0, 7) == 7);
  CHECK(run("red.shared.add.noftz.f16x2 [box], %r1;" + after, 0x3C003C00, 0x40003C00) ==
        0x42004000);
  CHECK(run("red.shared.add.u64 [box], %d1; ld.shared.b64 %d8, [box];", kMinus, 2) == 1);
  CHECK(run_ptx("bar.sync 0; atom.global.add.u32 %r8, [%d14], 1;", {40}, 32)[31] == 71);
}

TEST_CASE("shuffles, votes, matches, reductions") {
  const auto lane = [](const std::string& statements, std::size_t which) {
    return run_ptx(statements, {}, 32)[which];
  };
  CHECK(lane("shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;", 3) == 19);
  CHECK(lane("shfl.sync.down.b32 %r8, %r7, 2, 31, -1;", 3) == 5);
  CHECK(lane("shfl.sync.down.b32 %r8, %r7, 2, 31, -1;", 31) == 31);
  CHECK(lane("shfl.sync.up.b32 %r8, %r7, 2, 0, -1;", 3) == 1);
  CHECK(lane("shfl.sync.up.b32 %r8, %r7, 2, 0, -1;", 1) == 1);
  CHECK(lane("shfl.sync.idx.b32 %r8, %r7, 9, 31, -1;", 30) == 9);
  // width 8: segments of eight lanes
  CHECK(lane("shfl.sync.idx.b32 %r8, %r7, 3, 0x181F, -1;", 30) == 27);
  CHECK(lane("shfl.sync.down.b32 %r8|%p0, %r7, 1, 0x181F, -1;", 7) == 7);
  CHECK(lane("shfl.sync.down.b32 %r1|%p0, %r7, 1, 0x181F, -1;", 7) == 0);
  CHECK(lane("shfl.sync.down.b32 %r1|%p0, %r7, 1, 0x181F, -1;", 6) == 1);
  const std::string even = "and.b32 %r1, %r7, 1; setp.eq.s32 %p1, %r1, 0; ";
  CHECK(lane(even + "vote.sync.ballot.b32 %r8, %p1, -1;", 5) == 0x55555555);
  CHECK(lane(even + "vote.sync.ballot.b32 %r8, !%p1, -1;", 5) == 0xAAAAAAAA);
  CHECK(lane(even + "vote.sync.any.pred %p0, %p1, -1;", 5) == 1);
  CHECK(lane(even + "vote.sync.all.pred %p0, %p1, -1;", 5) == 0);
  CHECK(lane(even + "vote.sync.uni.pred %p0, %p1, -1;", 5) == 0);
  CHECK(lane("and.b32 %r1, %r7, 3; match.any.sync.b32 %r8, %r1, -1;", 5) == 0x22222222);
  CHECK(lane("mov.u32 %r1, 3; match.all.sync.b32 %r8|%p1, %r1, -1;", 5) == 0xFFFFFFFF);
  CHECK(lane("redux.sync.add.u32 %r8, %r7, -1;", 5) == 496);
  CHECK(lane("redux.sync.max.s32 %r8, %r7, -1;", 5) == 31);
  CHECK(lane("redux.sync.xor.b32 %r8, %r7, -1;", 5) == 0);
  CHECK(lane("mov.u32 %r8, %lanemask_lt; bar.warp.sync -1;", 5) == 31);
}

TEST_CASE("branches part and meet, barriers gather the block") {
  const std::string loop =
      "mov.u32 %r8, 0; mov.u32 %r1, 0;\n$again: add.u32 %r8, %r8, %r1; add.u32 %r1, %r1, 1;\n"
      "setp.le.u32 %p1, %r1, %r7; @%p1 bra $again;";
  CHECK(run_ptx(loop, {}, 64)[63] == 63 * 64 / 2);
  CHECK(run_ptx(loop, {}, 64)[1] == 1);
  const std::string table =
      "and.b32 %r1, %r7, 1;\n$to: .branchtargets $zero, $one;\nbrx.idx %r1, $to;\n"
      "$zero: mov.u32 %r8, 10; bra.uni $end;\n$one: mov.u32 %r8, 11;\n$end: bar.warp.sync -1;";
  CHECK(run_ptx(table, {}, 32)[4] == 10);
  CHECK(run_ptx(table, {}, 32)[5] == 11);
  const std::string exchange =
      ".shared .align 4 .b8 box[256]; shl.b32 %r1, %r7, 2; mov.u32 %r2, box; add.u32 %r3, %r2, "
      "%r1;\n"
      "st.shared.b32 [%r3], %r7; bar.sync 0; xor.b32 %r4, %r1, 128; add.u32 %r4, %r2, %r4;\n"
      "ld.shared.b32 %r8, [%r4]; membar.gl; fence.acq_rel.gpu;";
  CHECK(run_ptx(exchange, {}, 64)[3] == 35);
  CHECK(run_ptx("setp.lt.u32 %p1, %r7, 40; bar.red.popc.u32 %r8, 0, %p1;", {}, 64)[50] == 40);
  CHECK(run_ptx("setp.lt.u32 %p1, %r7, 40; barrier.red.or.pred %p0, 0, %p1;", {}, 64)[50] == 1);
}

TEST_CASE("an instruction that is not modelled stops with a message") {
  for (const std::string statement : {"mov.u32 %r8, %smid;",
                                      "add.cc.u32 %r8, %r0, %r1;",
                                      "cvt.rna.tf32.f32 %r8, %r0;",
                                      "ld.global.acquire.gpu.b32 %r8, [%d14];",
                                      "bar.sync 1, 64;",
                                      "add.f32.something %r8, %r0, %r1;",
                                      "mul.s32 %r8, %r0, %r1;",
                                      "cvt.rn.f16x2.f32 %r8, %r0;",
                                      "cp.async.ca.shared.global [%r0], [%d14], 16;",
                                      "mad.lo.s32 %d8, %r0, %r1, %r2;",
                                      "call.uni (retval0), vprintf, (param0, param1);"}) {
    const Outcome outcome = in_child([&] {
      (void)run_ptx(statement, {1, 2, 3});
      return 0;
    });
    INFO(statement);
    INFO(outcome.text);
    CHECK(outcome.status == kFaultStatus);
    CHECK(outcome.text.find("does not model") != std::string::npos);
  }
}
