#!/usr/bin/env python3
"""Checks that the CPU kernels are vector code, with every compiler: reads the machine code of a library.

vectorized.py check LIBRARY OBJDUMP COMPILER VERSION   fails for differences from tests/lab/tools/vector_loops
vectorized.py write LIBRARY OBJDUMP                    adds lines for new kernels, lowers those that are too high

COMPILER is CMake's name for it: GNU or Clang. Two rules apply to every function that is compiled for AVX2 or AVX-512, an instance
of simd::run's or one in cpu/simd/:

* At least as many loops as in its line compute in whole registers, zmm for AVX-512 and ymm for AVX2, because half a register is
  half the speed. Every compiler uses whole ones unless it tunes for one CPU, and then this test does not run.
* No innermost loop computes element by element, unless a vector loop may have run before it and left the rest.

Exceptions for what a compiler cannot do are in the same table, with the reason. The test fails for a kernel without a line, a line
without a kernel, and an exception that its compiler no longer needs. For an untested compiler the results are the same, but the exit
status is 77, skipped, because its user cannot do anything about them.
"""
import pathlib
import re
import sys

import machine_code

TRIED = {"GNU": range(12, 15), "Clang": range(14, 20)}
TABLE = pathlib.Path(__file__).with_name("vector_loops")
RUN = re.compile(r"6detail(?:10run_(avx512)|8run_(avx2))I(.*)")
FILES = {"kernels_avx2": "avx2", "kernels_avx512": "avx512", "tile_moves": "avx512", "tiles_avx512_bf16": "avx512"}
REGISTER = {"avx2": "%ymm", "avx512": "%zmm"}
# Names that do not tell kernels apart.
FRAMES = {"learn", "kernels", "cpu", "simd", "detail", "parallel_for", "all_zero", "integral_constant"}
# In cpu/simd/, functions that one compiler inlines into another and the next does not.
PARTS = {
    "product": ("tile", "tile_of", "multiply_columns", "multiply_block", "multiply_rows", "multiply"),
    "row_product": ("dot_tile", "dot_tile_of", "dot_rows"),
    "grouped_product": ("grouped_pixels", "grouped_pixels_of", "grouped_products", "multiply_groups"),
    "grouped_product_transposed": ("grouped_tap_sums", "grouped_taps", "grouped_products_transposed", "multiply_groups_transposed"),
    "winograd": ("transform_pixels", "transform_to_pixels", "transform_taps", "transform_to_taps"),
}
WHOLE = {part: whole for whole, parts in PARTS.items() for part in parts}
# Made of 4 x 4 floats on purpose; and what makes no loops.
NARROW = {("kernels_avx2", "transpose"), ("kernels_avx512", "transpose"), ("tile_moves", "with_avx512_moves")}
# Instructions that fill registers or move values between them, as outer loops do for inner ones.
MOVE = re.compile(r"v(p?broadcast|mov|extract|insert|p?xor|pternlog|pcmpeq|perm|p?shuf|p?unpck)")
MEMORY = r"\w+,[-0-9a-fx]*\("
SCALAR_STORE = re.compile(r"%[a-z]" + MEMORY + "(?!%rsp|%rbp)")


def identifiers(mangled):
    """The names in a mangled symbol, from outside in, without substitutions (S1_, T_) and literals."""
    names, at = [], 0
    while at < len(mangled):
        skip = re.compile(r"S[0-9A-Z]*_|T\d*_|L[a-z]\d+E").match(mangled, at)
        length = re.compile(r"\d+").match(mangled, at)
        if skip:
            at = skip.end()
        elif length:
            at = length.end() + int(length[0])
            names.append(mangled[length.end():at])
        else:
            at += 1
    return names


def computes(loop, register):
    """Whether the loop itself, without those inside, computes in such registers or stores them."""
    stores = re.compile(register + MEMORY)
    return any(register in operands and (not MOVE.match(name) or stores.search(operands))
               for _, name, operands in loop.own)


def by_element(loop):
    return any("%xmm" in operands and not MOVE.match(name) or SCALAR_STORE.match(operands)
               for _, name, operands in loop.own)


def count_loops(body, register):
    """Loops that compute in whole registers, and innermost ones by element that no vector loop comes before."""
    flow = machine_code.Flow(body)
    wide = [loop for loop in flow.loops if computes(loop, "%ymm") or computes(loop, "%zmm")]
    rest = flow.after({block for loop in wide for block in loop.blocks})
    return (sum(computes(loop, register) for loop in flow.loops),
            sum(loop.innermost and loop.header not in rest and by_element(loop) for loop in flow.loops))


class Function:
    """One function: its source file, kernel, element types and instruction set, and what its loops do."""

    def __init__(self, file, kernel, types, isa, loops, scalar):
        self.file, self.kernel, self.types, self.isa = file, kernel, types, isa
        self.loops, self.scalar = loops, scalar

    def __str__(self):
        return f"{self.file}: {self.kernel} of {self.types}, {self.isa}"


def vector_functions(functions):
    """Kernels of simd::run one by one; in cpu/simd/, all parts of a kernel as one."""
    joined = {}
    for file, symbol, body in functions:
        stem, found = file.split(".")[0], RUN.search(symbol)
        if symbol.endswith(".cold") or not found and stem not in FILES:
            continue
        isa = found[1] or found[2] if found else FILES[stem]
        names = identifiers(found[3] if found else symbol)
        own = list(dict.fromkeys(n for n in names if re.fullmatch(r"[a-z]\w*", n) and n not in FRAMES))
        types = "+".join(dict.fromkeys(n for n in names if n in ("Half", "BFloat16"))) or "float"
        if found:
            yield Function(stem + ".cpp", "/".join(own), types, isa, *count_loops(body, REGISTER[isa]))
        elif not own[0].endswith("_kernels") and (stem, own[0]) not in NARROW:
            kernel = WHOLE.get(own[0], own[0])
            whole = joined.setdefault((stem, kernel), Function(stem + ".cpp", kernel, "any type", isa, 0, 0))
            loops, scalar = count_loops(body, REGISTER[isa])
            whole.loops, whole.scalar = whole.loops + loops, whole.scalar + scalar
    yield from joined.values()


class Excuse:
    """except COMPILER FIRST-LAST FILE KERNEL TYPES ISA LOOPS SCALAR: REASON; TYPES and ISA may be *."""

    def __init__(self, line):
        words, _, self.reason = line.partition(": ")
        _, self.compiler, versions, self.file, self.kernel, types, isa, loops, scalar = words.split()
        self.first, self.last = map(int, versions.split("-"))
        self.types, self.isa, self.loops, self.scalar = types.split(","), isa, int(loops), int(scalar)
        self.line, self.needed = line, False

    def concerns(self, compiler, version):
        return self.compiler == compiler and self.first <= version <= self.last

    def covers(self, function):
        return ((self.file, self.kernel) == (function.file, function.kernel) and self.isa in ("*", function.isa)
                and (self.types == ["*"] or function.types in self.types))


def read_table(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    expected = [line.split() for line in lines if not line.startswith("except ")]
    return ({(file, kernel): int(loops) for file, kernel, loops in expected},
            [Excuse(line) for line in lines if line.startswith("except ")])


def complaints(functions, expected, exceptions):
    """`exceptions` are those of the compiler at hand."""
    for function in functions:
        key = (function.file, function.kernel)
        if key not in expected:
            yield f"{function}: no line in tests/lab/tools/vector_loops; it has {function.loops} vector loops"
            continue
        loops, scalar = expected[key], 0
        for exception in exceptions:
            if exception.covers(function) and (function.loops < loops or function.scalar > scalar):
                exception.needed = True
                loops, scalar = exception.loops, exception.scalar
        if function.loops < loops:
            yield f"{function}: {function.loops} loops compute in whole vector registers, {loops} should"
        if function.scalar > scalar:
            yield f"{function}: {function.scalar} loops compute element by element without a vector loop before them"
    for file, kernel in expected.keys() - {(f.file, f.kernel) for f in functions}:
        yield f"{file}: {kernel} is in tests/lab/tools/vector_loops but not in the library"
    for exception in exceptions:
        if not exception.needed:
            yield f"no longer needed: {exception.line}"


def write(functions, expected, exceptions):
    least = {}
    for f in functions:
        if any(exception.covers(f) for exception in exceptions):
            continue  # its own line says less of it
        key = (f.file, f.kernel)
        least[key] = min(f.loops, least.get(key, expected.get(key, f.loops)))
    head = [line for line in TABLE.read_text().splitlines() if line.startswith(("#", "except "))]
    TABLE.write_text("\n".join(head + [f"{file} {kernel} {n}" for (file, kernel), n in sorted(least.items())]) + "\n")


def self_test():
    """A vector loop with its rest passes; the same loop by element does not, nor in half of a register."""
    def listing(main):
        rest = "  10:\tvaddss (%rax),%xmm1,%xmm0\n  14:\tvmovss %xmm0,(%rax)\n  18:\tjne    10 <f+0x10>\n  1c:\tret\n"
        name = "_ZN5learn6detail10run_avx512IZNS_3addINS_4HalfEEEvPT_EUlvE_EEvRKS1_"
        return f"a.cpp.o:     file format elf64-x86-64\n0000 <{name}>:\n{main}{rest}".splitlines()

    def judged(main, exceptions=(), table="a.cpp add 1"):
        functions = list(vector_functions(machine_code.functions(listing(main))))
        return list(complaints(functions, read_table(table)[0], exceptions))

    loop = "   0:\tvaddps (%rax),%zmm1,%zmm0\n   4:\tvmovups %zmm0,(%rax)\n   8:\tjne    0 <f>\n"
    scalar = loop.replace("ps", "ss").replace("zmm", "xmm")
    filled = "   0:\tvbroadcastss %xmm1,%zmm0\n   8:\tjne    0 <f>\n"
    excuse = "except GNU 12-14 a.cpp add Half avx512 0 2: a test"
    assert not judged(loop)
    assert len(judged(scalar)) == 2 and len(judged(filled)) == 2
    assert len(judged(loop.replace("zmm", "ymm"))) == 1
    assert not judged(scalar, [Excuse(excuse)]) and len(judged(loop, [Excuse(excuse)])) == 1
    assert len(judged(loop, (), "a.cpp sub 1")) == 2
    assert Excuse(excuse).concerns("GNU", 14) and not Excuse(excuse).concerns("GNU", 15)


def main():
    self_test()
    if len(sys.argv) not in (4, 6) or sys.argv[1] != ("check" if len(sys.argv) == 6 else "write"):
        sys.exit(__doc__)
    expected, exceptions = read_table(TABLE.read_text())
    functions = list(vector_functions(machine_code.disassemble(sys.argv[3], sys.argv[2])))
    if not functions:
        sys.exit(f"no kernels in {sys.argv[2]}")
    if sys.argv[1] == "write":
        return write(functions, expected, exceptions)
    compiler, version = sys.argv[4], int(sys.argv[5].split(".")[0])
    exceptions = [exception for exception in exceptions if exception.concerns(compiler, version)]
    bad = sorted(complaints(functions, expected, exceptions))
    print("\n".join(bad) or f"vectorized: {len(functions)} functions, {len(exceptions)} exceptions for "
          f"{compiler} {version}")
    if bad and version not in TRIED.get(compiler, ()):
        print(f"skipped: the table was made without {compiler} {version}")
        sys.exit(77)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
