#!/usr/bin/env python3
"""Converts a page of framework/docs for Doxygen (FILTER_PATTERNS): adds anchors to headings, because the version in Debian 12 does
not create any that links can use, makes links to them @ref, and turns links to files outside the reference into plain text."""
import re
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[3] / "framework/docs"


def anchor(page, heading):
    return f"{page.stem}-{heading}".replace("_", "-")


def heading(page, line):
    if match := re.match(r"(##+) (.*)", line):
        name = re.sub(r"[^\w -]", "", match[2].lower()).replace(" ", "-")
        return f"{line} {{#{anchor(page, name)}}}"
    return line


def link(page, match):
    text, target, part = match[1], match[2], match[3]
    if "://" in target:
        return match[0]
    to = (page.parent / target).resolve() if target else page
    if to.suffix != ".md" or to.parent != PAGES:
        return text
    return f"[{text}](@ref {anchor(to, part)})" if part else f"[{text}](@ref {to.stem}-page)"


def main():
    page = Path(sys.argv[1]).resolve()
    in_code = False
    for number, line in enumerate(page.read_text().splitlines()):
        in_code ^= line.startswith("```")
        if not in_code:
            line = heading(page, line)
            line = f"{line} {{#{page.stem}-page}}" if number == 0 else line
            line = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]*)#?([^)\s]*)\)", lambda match: link(page, match), line)
        print(line)


main()
