#!/usr/bin/env python3
"""Checks that no kernel numbers its threads in 32 bits: beyond 2^31 elements such an index wraps silently.

index_width.py BINARY...

Searches the PTX of every kernel for 32-bit products of the number of a block: multiplications, fused multiplications and
shifts with a result of 32 bits. A kernel whose number of blocks is bounded may have them; KNOWN gives the reason. This proves
that the parts of a whole tensor are counted in 64 bits. It does not prove that every index computed from them stays in 64 bits,
which no test can show without that much memory.
"""
import re
import sys

import fat_binary

KNOWN = {
    "squares_kernel": "at most 1024 blocks, two partial sums each",
}
BLOCK = re.compile(r"mov\.u32\s+(%r\d+),\s*%ctaid\.[xyz];")
NARROW = re.compile(r"(?:mul\.lo\.[su]32|mad\.lo\.[su]32|shl\.b32)\s+(%r\d+),\s*([^;]*);")


def narrow_products(body):
    """The statements that multiply a block's number into 32 bits."""
    blocks = set(BLOCK.findall(body))
    return [match[0] for match in NARROW.finditer(body)
            if blocks & set(re.split(r",\s*", match[2])[:2])]


def kernels_of(text):
    for match in re.finditer(r"\.entry\s+([\w$]+)(.*?)^\}", text, flags=re.DOTALL | re.MULTILINE):
        yield match[1], match[2]


def self_test():
    wide = "mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd1, %r1, %r2;\nmul.lo.s32 %r4, %r3, 5;\n"
    assert not narrow_products(wide)
    for bad in ("mad.lo.s32 %r4, %r1, %r2, %r3;", "mul.lo.s32 %r4, %r2, %r1;", "shl.b32 %r4, %r1, 7;"):
        assert narrow_products(wide + bad) == [bad]
    assert not narrow_products(wide + "mad.lo.s32 %r4, %r5, %r6, %r1;")


def main():
    self_test()
    seen, bad = 0, []
    for file in sys.argv[1:]:
        for text in fat_binary.ptx_texts(file):
            kernels = list(kernels_of(text))
            for name, (_, body) in zip(fat_binary.demangle(name for name, _ in kernels), kernels):
                seen += 1
                found = narrow_products(body)
                if found and not any(f"{known}<" in name or f"{known}(" in name for known in KNOWN):
                    bad.append(f"{name}: {found[0]}")
    if seen == 0:
        bad.append("no kernels found")
    print("\n".join(bad) or f"index width: {seen} kernels count their threads in 64 bits")
    sys.exit(1 if bad else 0)


main()
