#!/usr/bin/env python3
"""Checks the README and the pages.

Each program shown is an example that is compiled and run, character by character; the README also shows a part of one, and the
cookbook parts of every own_*.cpp. An example has at most 40 lines of code besides its includes. Links lead somewhere. The README
has at most 120 lines, 900 words and 100 columns, and blocks of code of at most 15 lines.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[3]


def blocks(text):
    return re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)


def check_loop(readme):
    """The README's loop is the one in the comment of event.h, which has every event of the table."""
    header = (ROOT / "framework/learner/event.h").read_text()
    loop = re.search(r"(?:^///   .*\n|^///       .*\n)+", header, re.MULTILINE)[0]
    missing = [event for event in re.findall(r"^  X\((\w+), ", header, re.MULTILINE) if not re.search(rf"\b{event}\b", loop)]
    if missing:
        sys.exit(f"event.h: the loop in the comment of Event lacks {', '.join(missing)}")
    shown = "".join(line[6:] or "\n" for line in loop.splitlines(keepends=True))
    if f"```\n{shown}```\n" not in readme:
        sys.exit(f"README.md: its loop is not that of framework/learner/event.h; paste this between two lines of ```:\n{shown}")


MOST_LINES = 40
MOST_BLOCK_LINES = 15
README_LIMITS = {"lines": 120, "words": 900, "columns": 100}


def code_lines(text):
    """Lines that are neither blank, nor an include, nor a comment alone."""
    return sum(not re.match(r"\s*($|#include|//)", line) for line in text.splitlines())


def check_cookbook(examples):
    """Each section's code is that of the program it is about."""
    page = ROOT / "framework/docs/cookbook.md"
    head, *sections = page.read_text().split("\n## ")
    programs = re.findall(r"\((#[\w-]+)\) \|[^|]*\| \[(own_\w+\.cpp)\]", head)
    missing = {name for name in examples if name.startswith("own_")} ^ {name for _, name in programs}
    if missing:
        sys.exit(f"cookbook.md: its table and apps/examples differ in {', '.join(sorted(missing))}")
    titles = ["#" + section.splitlines()[0].lower().replace(" ", "-") for section in sections]
    if titles != [link for link, _ in programs]:
        sys.exit(f"cookbook.md: the table has {[link for link, _ in programs]}, the sections are {titles}")
    for section, (_, name) in zip(sections, programs):
        if not blocks(section):
            sys.exit(f"cookbook.md shows nothing of {name}")
        headers = re.findall(r'#include "(apps/examples/\w+\.h)"', examples[name])
        texts = [examples[name], *((ROOT / header).read_text() for header in headers)]
        for block in blocks(section):
            if not any(block in text for text in texts):
                sys.exit(f"cookbook.md shows what is not in {name}:\n{block}")


def check_size(readme):
    measured = {"lines": len(readme.splitlines()), "words": len(readme.split()), "columns": max(map(len, readme.splitlines()))}
    for what, limit in README_LIMITS.items():
        if measured[what] > limit:
            sys.exit(f"README.md: {measured[what]} {what}; the limit is {limit}: move text to framework/docs")


def main():
    assert code_lines("#include <a>\n\n// b\nint x;  // c\n  int y;\n") == 2
    assert blocks("a\n```cpp\nint x;\n```\n") == ["int x;\n"]
    examples = {file.name: file.read_text() for file in (ROOT / "apps/examples").glob("*.cpp")}
    for name, text in examples.items():
        if code_lines(text) > MOST_LINES:
            sys.exit(f"{name}: {code_lines(text)} lines of code; {MOST_LINES} are what an example may need")
    check_cookbook(examples)
    check_loop((ROOT / "README.md").read_text())
    check_size((ROOT / "README.md").read_text())
    shown = blocks((ROOT / "README.md").read_text())
    if not any(block in examples.values() for block in shown):
        sys.exit("README.md shows no program")
    for block in shown:
        if not any(block in text for text in examples.values()):
            sys.exit(f"README.md shows code that is not in any of {', '.join(sorted(examples))}:\n{block}")
        if len(block.splitlines()) > MOST_BLOCK_LINES:
            sys.exit(f"README.md shows a block of {len(block.splitlines())} lines; the limit is {MOST_BLOCK_LINES}")
    pages = [ROOT / "README.md", ROOT / "framework/README.md", ROOT / "framework/adr/README.md",
             *(ROOT / "framework/docs").rglob("*.md")]
    for page in pages:
        for block in blocks(page.read_text()):
            if "int main" in block and block not in examples.values() and page.name != "cookbook.md":  # pieces: see above
                sys.exit(f"{page.relative_to(ROOT)} shows a program that is none of {', '.join(sorted(examples))}:\n{block}")
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
            if "://" not in link and not (page.parent / link).exists():
                sys.exit(f"{page.relative_to(ROOT)} links to {link}, which is not there")
    print(f"README: {len(shown)} blocks of code are compiled and run")


main()
