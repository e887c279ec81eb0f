#!/usr/bin/env python3
"""The README's program must be an example that is compiled and run, character by character."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]


def blocks(text):
    return re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)


def main():
    assert blocks("a\n```cpp\nint x;\n```\n") == ["int x;\n"]
    examples = {file.name: file.read_text() for file in (ROOT / "apps/examples").glob("*.cpp")}
    shown = blocks((ROOT / "README.md").read_text())
    if not shown:
        sys.exit("README.md shows no program")
    for block in shown:
        if block not in examples.values():
            sys.exit(f"README.md shows a program that is none of {', '.join(sorted(examples))}:\n{block}")
    print(f"README: {len(shown)} program(s) are compiled and run")


main()
