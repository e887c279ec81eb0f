#!/usr/bin/env python3
"""Holds the registers and the static shared memory of every kernel within tests/lab/gpu/budgets.

kernel_budget.py check BINARY...   fails for a kernel over its budget and for one without a line
kernel_budget.py write BINARY...   adds lines for new kernels and raises those that are too low; removes others

One line per kernel, for all its template instances and architectures: registers, in the steps of 8 in which the
hardware allocates them, and bytes of shared memory. The numbers are read from the cubins in the binary. If you
raise one, give the reason in the commit.
"""
import pathlib
import re
import struct
import sys

import fat_binary

BUDGETS = pathlib.Path(__file__).with_name("budgets")
REGCOUNT = 0x2F  # EIATTR_REGCOUNT in .nv.info: format 4, attribute, size 8, symbol, count
SYSTEM_SHARED = 1024  # what the system keeps per block; part of the section where there is a section for it


def sections(elf):
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size) for i in range(count)]
    names = rows[names_index]

    def text(at):
        return elf[names[4] + at:elf.index(b"\0", names[4] + at)].decode()
    return {text(row[0]): (row[4], row[5]) for row in rows}


def symbol_names(elf, found):
    at, size = found[".symtab"]
    strings = found[".strtab"][0]
    starts = (strings + struct.unpack_from("<I", elf, at + 24 * i)[0] for i in range(size // 24))
    return [elf[start:elf.index(b"\0", start)].decode() for start in starts]


def usage(elf):
    """mangled name -> (registers, shared bytes) of one cubin."""
    found = sections(elf)
    names = symbol_names(elf, found)
    at, size = found[".nv.info"]
    end = at + size
    system = SYSTEM_SHARED if ".nv.shared.reserved.0" in found else 0
    result = {}
    while at < end:
        form, attribute, length = struct.unpack_from("<BBH", elf, at)
        if form == 4 and attribute == REGCOUNT:
            symbol, registers = struct.unpack_from("<II", elf, at + 4)
            shared = found.get(".nv.shared." + names[symbol], (0, system))[1]
            result[names[symbol]] = (registers, shared - system)
        at += 4 + (length if form == 4 else 0)
    return result


def plain(name):
    """void a::k<float, 3>(float*) -> k"""
    depth, kept = 0, ""
    for c in name:
        depth += c == "<"
        kept += c if depth == 0 else ""
        depth -= c == ">"
    return re.sub(r"\(.*", "", kept).split("::")[-1].split(" ")[-1]


def measure(files):
    """kernel -> [registers, shared bytes], the most over instances and architectures."""
    most = {}
    for file in files:
        for elf in fat_binary.cubins(file):
            used = usage(elf)
            for name, (registers, shared) in zip(fat_binary.demangle(used), used.values()):
                row = most.setdefault(plain(name), [0, 0])
                row[0] = max(row[0], (registers + 7) // 8 * 8)
                row[1] = max(row[1], shared)
    if not most:
        sys.exit(f"no kernels in {', '.join(files)}")
    return most


def read_budgets():
    rows = (line.split() for line in BUDGETS.read_text().splitlines() if line and line[0] != "#")
    return {name: [int(registers), int(shared)] for name, registers, shared in rows}


def complaints(now, budgets):
    for name, (registers, shared) in sorted(now.items()):
        if name not in budgets:
            yield f"{name}: no line in tests/lab/gpu/budgets; it uses {registers} registers, {shared} bytes of shared memory"
        elif registers > budgets[name][0] or shared > budgets[name][1]:
            yield (f"{name}: {registers} registers and {shared} bytes of shared memory, "
                   f"budget {budgets[name][0]} and {budgets[name][1]}")


def main():
    assert plain("void a::k<float, b::C<int> >(float*)") == "k"
    assert list(complaints({"k": [40, 0]}, {"k": [32, 0]})) and list(complaints({"k": [8, 0]}, {}))
    assert not list(complaints({"k": [32, 4]}, {"k": [32, 4]}))
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    now, budgets = measure(sys.argv[2:]), read_budgets()
    if sys.argv[1] == "write":
        head = [line for line in BUDGETS.read_text().splitlines() if line.startswith("#")]
        rows = {name: [max(pair) for pair in zip(used, budgets.get(name, [0, 0]))] for name, used in now.items()}
        BUDGETS.write_text("\n".join(head + [f"{n} {r} {s}" for n, (r, s) in sorted(rows.items())]) + "\n")
        return
    bad = list(complaints(now, budgets))
    print("\n".join(bad) or f"kernel budgets: {len(now)} kernels are within theirs")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
