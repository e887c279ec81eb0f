#pragma once

/// Defines the function `symbol` (a mangled name) of the CUDA backend in this program: a jump to
/// `learn_cuda_calls[index]`. The caller's frame and arguments are unchanged, so it supports any
/// signature and exceptions; it costs the same as a call into a linked shared library.
#if defined(__x86_64__)
#define LEARN_CUDA_CALL(index, symbol)                                                        \
  asm(".pushsection .text\n"                                                                  \
      ".globl " symbol "\n.hidden " symbol "\n.type " symbol ", @function\n" symbol           \
      ":\n  endbr64\n  jmp *learn_cuda_calls+8*" #index "(%rip)\n.size " symbol ", .-" symbol \
      "\n.popsection")
#elif defined(__aarch64__)
#define LEARN_CUDA_CALL(index, symbol)                                                   \
  asm(".pushsection .text\n.balign 4\n"                                                  \
      ".globl " symbol "\n.hidden " symbol "\n.type " symbol ", %function\n" symbol      \
      ":\n  hint #34\n  adrp x16, learn_cuda_calls+8*" #index                            \
      "\n  ldr x16, [x16, :lo12:learn_cuda_calls+8*" #index "]\n  br x16\n.size " symbol \
      ", .-" symbol "\n.popsection")
#else
#error "the CUDA backend supports x86-64 and 64-bit Arm: set LEARN_CUDA=OFF"
#endif
