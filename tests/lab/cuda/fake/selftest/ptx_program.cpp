#include "tests/lab/cuda/fake/selftest/ptx_program.h"

#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/ptx_module.h"

#include <fmt/core.h>

#include <cstring>

namespace fakecuda::selftest {
namespace {

std::string program(const std::string& statements,
                    std::size_t inputs,
                    const std::string& declarations) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n" + declarations +
                     "\n.visible .entry kernel(.param .u64 out, .param .u64 in)\n{\n"
                     ".reg .pred %p<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<16>;\n.reg .b64 %d<17>;\n"
                     "ld.param.u64 %d15, [out];\nld.param.u64 %d14, [in];\nmov.u32 %r7, %tid.x;\n"
                     "mul.wide.u32 %d16, %r7, 8;\nadd.s64 %d15, %d15, %d16;\n";
  for (std::size_t i = 0; i < inputs; ++i) {
    text += fmt::format("ld.global.b64 %d{}, [%d14+{}];\n", i, 8 * i);
    text += fmt::format("cvt.u32.u64 %r{0}, %d{0};\ncvt.u16.u64 %h{0}, %d{0};\n", i);
  }
  text += statements + "\n";
  if (statements.find("%d8") == std::string::npos) {
    if (statements.find("%r8") != std::string::npos)
      text += "cvt.u64.u32 %d8, %r8;\n";
    else if (statements.find("%h8") != std::string::npos)
      text += "cvt.u64.u16 %d8, %h8;\n";
    else
      text += "selp.b64 %d8, 1, 0, %p0;\n";
  }
  return text + "st.global.b64 [%d15], %d8;\nret;\n}\n";
}

}  // namespace

std::vector<std::uint64_t> run_ptx(const std::string& statements,
                                   const std::vector<std::uint64_t>& inputs,
                                   int threads,
                                   const std::string& declarations) {
  PtxModule module(program(statements, inputs.size(), declarations));
  std::vector<std::uint64_t> results(static_cast<std::size_t>(threads));
  const std::size_t out_bytes = results.size() * sizeof(std::uint64_t);
  const std::size_t in_bytes = inputs.size() * sizeof(std::uint64_t);
  void* const out = allocate_device(out_bytes);
  void* const in = allocate_device(in_bytes + 8);
  copy_bytes(in, inputs.data(), in_bytes);
  void* const pointers[] = {out, in};
  std::vector<std::byte> arguments(sizeof(pointers));
  std::memcpy(arguments.data(), pointers, sizeof(pointers));
  run_grid(module,
           *module.kernel("kernel"),
           {.grid = dim3(1), .block = dim3(static_cast<unsigned>(threads)), .dynamic_shared = 0},
           arguments);
  copy_bytes(results.data(), out, out_bytes);
  free_device(in);
  free_device(out);
  return results;
}

}  // namespace fakecuda::selftest
