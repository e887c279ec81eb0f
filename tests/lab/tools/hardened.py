#!/usr/bin/env python3
"""Checks that programs and libraries were built with the options of framework/cmake/Hardening.cmake.

hardened.py READELF SOURCE_DIR FLAG... -- FILE...
    FLAG     options that the compiler and the linker support and the build should have used: -fstack-protector-strong,
             -fcf-protection, -D_FORTIFY_SOURCE, -pie, relro, now, noexecstack. Others are not visible in a file and are ignored
    FILE     a program, a shared library, or a static library, for which only -fcf-protection can be checked

No constant of a program or shared library may contain SOURCE_DIR, except as the path of another FILE, by which a program finds a
library of its build. (Line tables may contain it, for debuggers and the sanitizers of CUDA kernels.)
Exit status: 0, or 1 with a line for each fault.
"""
import re
import subprocess
import sys
from pathlib import Path


def read(readelf: str, options: str, file: Path) -> str:
    return subprocess.run([readelf, *options.split(), "--wide", str(file)], check=True, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def calls(readelf: str, file: Path) -> set[str]:
    return set(re.findall(r"\bUND (__\w+_chk(?:_fail)?)\b", read(readelf, "--dyn-syms", file)))


def missing_in_program(readelf: str, file: Path, flags: set[str]) -> list[str]:
    dynamic, segments = read(readelf, "--dynamic", file), read(readelf, "--program-headers", file)
    called = calls(readelf, file)
    stack = re.search(r"GNU_STACK.* ([RWE ]{3}) 0x", segments)
    is_program = "INTERP" in segments
    holds = {
        "-fstack-protector-strong": "__stack_chk_fail" in called,
        "-pie": not is_program or bool(re.search(r"FLAGS_1.*\bPIE\b", dynamic)),
        "relro": "GNU_RELRO" in segments,
        "now": bool(re.search(r"\(FLAGS(_1)?\).*\bNOW\b|BIND_NOW", dynamic)),
        "noexecstack": stack is not None and "E" not in stack[1],
    }
    absent = [flag for flag, held in holds.items() if flag in flags and not held]
    # The backend is loaded when a device is looked for, so that a program runs without one.
    return absent + [f"start without {name}"
                     for name in re.findall(r"NEEDED.*\[(lib(?:cud|cublas|nv)[^]]*)\]", dynamic) if is_program]


def missing_in_archive(readelf: str, file: Path, flags: set[str]) -> list[str]:
    """The linker notes protected branches for a program only if every object has them, the compiler's own too."""
    if "-fcf-protection" not in flags:
        return []
    members = re.split(r"^File: .*\((.*)\)$", read(readelf, "--notes", file), flags=re.MULTILINE)[1:]
    return [f"-fcf-protection in {name}" for name, notes in zip(members[::2], members[1::2])
            if "IBT, SHSTK" not in notes]


def source_paths(readelf: str, file: Path, source: str, files: list[Path]) -> list[str]:
    """A path of one of the files may also be there in pieces: compilers load long constants as vectors."""
    found = re.findall(re.escape(source) + "/[ -~]*", read(readelf, "--string-dump=.rodata", file))
    return [path for path in found if not any(str(other).startswith(path) for other in files)]


def main() -> int:
    if "--" not in sys.argv[3:]:
        sys.exit(__doc__)
    readelf, source, *rest = sys.argv[1:]
    flags, files = set(rest[:rest.index("--")]), [Path(word) for word in rest[rest.index("--") + 1:]]
    faults = []
    for file in files:
        if file.suffix == ".a":
            faults += [f"{file}: no {flag}" for flag in missing_in_archive(readelf, file, flags)]
            continue
        faults += [f"{file}: no {flag}" for flag in missing_in_program(readelf, file, flags)]
        faults += [f"{file}: holds {path}" for path in source_paths(readelf, file, source, files)]
    # A small program may have no call whose size is not known when it is compiled.
    if "-D_FORTIFY_SOURCE" in flags and not set().union(*(calls(readelf, file) for file in files)) - {"__stack_chk_fail"}:
        faults.append("no file calls a checked function of the C library: no -D_FORTIFY_SOURCE")
    print(*faults, f"{len(files)} files, {len(faults)} faults; looked for {' '.join(sorted(flags))}", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
