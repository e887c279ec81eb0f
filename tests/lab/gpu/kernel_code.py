#!/usr/bin/env python3
"""Checks ptxas's code of the kernels for sm_90 (H100, H200) against tests/lab/gpu/code_rules: no local memory anywhere, loads and
stores of 16 bytes in the kernels with most traffic, no division in short loops.

kernel_code.py check BINARY...   prints each instance that breaks a rule, and each rule without a kernel
kernel_code.py show BINARY NAME  the instructions that the rules are about, of each instance of a kernel

An instruction is 16 bytes; its name is in the lowest 12 bits. Only the few that matter here are decoded (found with
nvdisasm 13.0 on these kernels).
"""
import collections
import pathlib
import re
import struct
import sys

import fat_binary
import kernel_budget

RULES = pathlib.Path(__file__).with_name("code_rules")
ARCHITECTURE = 90
LOAD, STORE, LOCAL_LOAD, LOCAL_STORE, CALL, BRANCH = 0x981, 0x986, 0x983, 0x387, 0x944, 0x947
LOCAL = {LOCAL_LOAD, LOCAL_STORE, 0x987}
# Reciprocals, the check before the slow path of an IEEE division, calls of that path, and the conversion at the start of an
# integer division; each with a register, a constant or an immediate operand.
DIVISIONS = {"a reciprocal": 0x108, "a division": 0x102, "an integer division": 0x106}
REGISTER_FORMS = 0x1FF
RECIPROCAL = 4  # of the functions of MUFU


class Instruction(collections.namedtuple("Instruction", "at low high")):
    @property
    def name(self):
        return self.low & 0xFFF

    @property
    def bytes_moved(self):
        """Width of a load or store of global memory."""
        return {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}.get(self.high >> 9 & 7, 0)

    @property
    def target(self):
        """Target of a branch: its offset is in words of 4 bytes after it, with 8 of its bits in a separate field."""
        offset = (self.high & 0x3FFFF) << 30 | self.low >> 34
        offset -= (offset >> 47) << 48
        return self.at + 16 + 4 * (offset << 8 | self.low >> 16 & 0xFF)

    @property
    def division(self):
        """The part of a division that this is; empty if none."""
        if self.name == CALL:
            return "a call"
        for what, form in DIVISIONS.items():
            if self.name & REGISTER_FORMS == form and (form != 0x108 or self.high >> 10 & 0xF == RECIPROCAL):
                return what
        return ""


def instructions(code):
    return [Instruction(16 * i, *struct.unpack_from("<QQ", code, 16 * i)) for i in range(len(code) // 16)]


def in_loops(code):
    """The instructions between a backward branch and where it goes."""
    spans = [(i.target, i.at) for i in code if i.name == BRANCH and 0 <= i.target < i.at]
    return [i for i in code if any(begin <= i.at <= end for begin, end in spans)]


def kernels_of(files):
    """Demangled name -> instructions, of every kernel for the architecture."""
    found = {}
    for file in files:
        for elf in fat_binary.cubins(file):
            flags, = struct.unpack_from("<I", elf, 0x30)
            if flags >> 8 & 0xFF != ARCHITECTURE:
                continue
            for section, (at, size) in kernel_budget.sections(elf).items():
                if section.startswith(".text."):
                    found[section[len(".text."):]] = instructions(elf[at:at + size])
    return dict(zip(fat_binary.demangle(found), found.values()))


def read_rules():
    """(pattern of the demangled name, what it must hold to) in the order of the file."""
    rows = (line.rsplit(" ", 1) for line in RULES.read_text().splitlines() if line.strip() and line[0] != "#")
    return [(pattern.strip(), rule) for pattern, rule in rows]


def breaks(code, rule):
    """Why the code does not hold to it; empty if it does."""
    if rule == "no-division-in-loops":
        found = sorted({i.division for i in in_loops(code)} - {""})
        return f"{' and '.join(found)} in a loop" if found else ""
    what, width = re.fullmatch(r"(loads|stores)=(\d+)", rule).groups()
    moved = [i.bytes_moved for i in code if i.name == (LOAD if what == "loads" else STORE)]
    return "" if moved and max(moved) >= int(width) else f"its widest of the {what} has {max(moved, default=0)} bytes, not {width}"


def complaints(kernels, rules):
    for name, code in sorted(kernels.items()):
        if any(i.name in LOCAL for i in code):
            yield f"{name}: uses local memory"
    for pattern, rule in rules:
        named = {name: code for name, code in kernels.items() if re.search(pattern, name)}
        if not named:
            yield f"no kernel is called {pattern}"
        for name, code in sorted(named.items()):
            if reason := breaks(code, rule):
                yield f"{name}: {reason}"


def show(kernels, wanted):
    for name, code in sorted(kernels.items()):
        if wanted not in name:
            continue
        loops = set(in_loops(code))
        loads, stores = (collections.Counter(i.bytes_moved for i in code if i.name == kind) for kind in (LOAD, STORE))
        print(f"{name}\n  {len(code)} instructions, {len(loops)} in loops; loads by bytes {dict(loads)}, stores {dict(stores)}; "
              f"in loops: {', '.join(sorted({i.division for i in loops} - {''})) or 'no division'}")


def self_test():
    """Words of sm_90 code, with what nvdisasm 13.0 says of them."""
    assert Instruction(0x3F0, 0x8000C0947, 0xFEA0003800000).target == 0xC30  # @P0 BRA
    assert Instruction(0x9A0, 0xFFFFFFF800F48947, 0xFEA000383FFFF).target == 0x580  # @!P0 BRA, backward
    load = Instruction(0, 0xC14047981, 0xEA2000C1E1D00)  # LDG.E.128
    assert load.name == LOAD and load.bytes_moved == 16
    assert Instruction(0, 0x804107981, 0xEA2000C1E1500).bytes_moved == 2  # LDG.E.U16
    assert Instruction(0, 0xC04007986, 0xFE8000C101908).name == STORE
    assert Instruction(0, 0x7308, 0x1E240000001000).division == "a reciprocal"  # MUFU.RCP
    assert not Instruction(0, 0xFFC0000000007908, 0xE220000001400).division  # MUFU.RSQ
    assert Instruction(0, 0xC00287944, 0xFEA0003C00000).division == "a call"
    assert Instruction(0, 0x400401007387, 0).name == LOCAL_STORE  # STL.128
    assert Instruction(0, 0x120000C0C7983, 0).name == LOCAL_LOAD  # LDL.64
    loop = [Instruction(0, 0x7308, 0x1E240000001000), Instruction(16, 0xFFFFFFF800F48947, 0xFEA000383FFFF)]
    assert not breaks(loop, "no-division-in-loops")  # it goes to before the kernel
    back = Instruction(16, (-2 & 0xFF) << 16 | 0x947 | (-1 & 0x3FFFFFFF) << 34, 0x3FFFF)
    assert back.target == 24 and breaks([load], "loads=16") == "" and breaks([load], "stores=16")


def main():
    self_test()
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "show"):
        sys.exit(__doc__)
    if sys.argv[1] == "show":
        return show(kernels_of(sys.argv[2:3]), sys.argv[3])
    kernels = kernels_of(sys.argv[2:])
    if not kernels:
        print(f"skipped: no code for sm_{ARCHITECTURE} in {', '.join(sys.argv[2:])}")
        sys.exit(77)
    bad = list(complaints(kernels, read_rules()))
    print("\n".join(bad) or f"kernel code: {len(kernels)} kernels for sm_{ARCHITECTURE} hold to the rules")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
