#!/usr/bin/env python3
"""coverage.py FILE...: which source lines of which kernels no test has executed.

The files are written by programs that run under the fake CUDA runtime with FAKE_CUDA_COVERAGE=FILE. Only lines
of this repository's sources count (.cu, .cuh), not those of the toolkit's headers. Template instances of one
kernel are taken together. Exit 1 if a kernel has lines that never ran and --strict is given.
"""
import re
import subprocess
import sys
from collections import defaultdict


def demangle(names):
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, out.splitlines()))


def plain(name):
    """void a::b::(anonymous namespace)::k<float, 3>(float*) -> k"""
    name = name.replace("(anonymous namespace)::", "")
    depth, kept = 0, ""
    for c in name:
        depth += c == "<"
        if depth == 0:
            kept += c
        depth -= c == ">"
    return re.sub(r"\(.*", "", kept).split("::")[-1].split(" ")[-1]


def join(texts):
    lines = defaultdict(lambda: defaultdict(int))
    for text in texts:
        for row in text.splitlines():
            kernel, where, times = row.rsplit(" ", 2)
            if re.search(r"\.cuh?:\d+$", where):
                lines[kernel][where] += int(times)
    return lines


def main():
    assert plain("void a::(anonymous namespace)::k<float, b::C<int> >(float*, int)") == "k"
    arguments = [a for a in sys.argv[1:] if a != "--strict"]
    lines = join(open(f).read() for f in arguments)
    if not lines:
        sys.exit("no kernel was run")
    names = demangle(sorted(lines))
    merged = defaultdict(lambda: defaultdict(int))
    for kernel, rows in lines.items():
        for where, times in rows.items():
            merged[plain(names[kernel])][where] += times
    missing = 0
    for kernel in sorted(merged):
        never = sorted((w for w, times in merged[kernel].items() if times == 0), key=lambda w: int(w.split(":")[1]))
        missing += bool(never)
        print(f"{kernel:40} {len(merged[kernel]) - len(never):4} of {len(merged[kernel]):4} lines"
              + (f"; never run: {' '.join(never)}" if never else ""))
    print(f"{len(merged) - missing} of {len(merged)} kernels ran whole")
    sys.exit(1 if missing and "--strict" in sys.argv else 0)


main()
