#!/usr/bin/env python3
"""make_unmodelled.py NM LIBCUDART OUT.cpp: a weak definition of every function of the CUDA runtime.

Functions that the fake runtime models are strong symbols and win; the others stop the process by name.
"""
import subprocess
import sys


def main():
    nm, library, out = sys.argv[1:]
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = sorted({line.split()[2].split("@")[0] for line in listed.splitlines() if " T " in line})
    if "cudaMalloc" not in names:
        sys.exit(f"{library} does not look like the CUDA runtime")
    lines = ['#include "tests/lab/cuda/fake/stop.h"', "", 'extern "C" {', ""]
    for name in names:
        lines += [f"[[gnu::weak]] void {name}();",
                  f'void {name}() {{ fakecuda::stop("{{}} is not modelled", "{name}"); }}']
    lines += ["", '}  // extern "C"', ""]
    with open(out, "w") as file:
        file.write("\n".join(lines))


main()
