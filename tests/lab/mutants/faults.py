"""The lists of planted faults: how they are written, and whether they still fit the sources.

A list is a file PART.txt next to this one:

    # a comment; the tests that are likely to notice most of the faults below
    tests: tests_core tests_kernels

    [sum-forgets-last-chunk] framework/kernels/reduce/reduce_cpu.cpp
    what: the last chunk's partial sum is not added
    tests: tests_kernels
    - for (std::int64_t c = 0; c < chunks; ++c) total += partials[c];
    + for (std::int64_t c = 0; c + 1 < chunks; ++c) total += partials[c];

The lines after "- " occur in the file exactly once, and may start and end within a line of it. The lines after "+ ", if any,
replace them. "tests:" of a fault replaces the list's; a name that ends in .py or .sh is a script in tests/apps, which gets
the program "learn".
"""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


class ListError(Exception):
    """A list that cannot be read or does not fit the sources: place and reason."""


@dataclass
class Fault:
    part: str
    name: str
    file: str
    place: str  # where it is listed
    what: str = ""
    tests: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def key(self) -> str:
        """Changes with what is planted, not with what is said of it."""
        text = "\0".join([self.file, *self.old, "", *self.new])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def planted(self, source: str) -> str:
        """The source with the fault in it."""
        old, new = "\n".join(self.old), "\n".join(self.new)
        if (found := source.count(old)) != 1:
            raise ListError(f"{self.place}: [{self.name}] is out of date: its text is {found} times in {self.file}")
        return source.replace(old, new)


def parts_in(folder: Path) -> list[str]:
    """The names of all lists in a folder, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.txt"))


PARTS = parts_in(HERE)


def read_list(part: str, text: str) -> list[Fault]:
    faults: list[Fault] = []
    usual: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{part}.txt:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if heading := re.fullmatch(r"\[([a-z0-9-]+)\] (\S+)", line):
            faults.append(Fault(part, heading[1], heading[2], place, tests=usual))
        elif line.startswith("tests: "):
            if faults:
                faults[-1].tests = line.split()[1:]
            else:
                usual = line.split()[1:]
        elif line.startswith("what: ") and faults and not faults[-1].what:
            faults[-1].what = line.removeprefix("what: ")
        elif re.match(r"-( |$)", line) and faults and not faults[-1].new:
            faults[-1].old.append(line[2:])
        elif re.match(r"\+( |$)", line) and faults and faults[-1].old:
            faults[-1].new.append(line[2:])
        else:
            raise ListError(f"{place}: what is '{line}'?")
    return faults


def check(faults: list[Fault], root: Path) -> list[str]:
    """A line for each thing that is wrong with them; every one is looked at."""
    wrong = []
    seen: dict[str, str] = {}
    for fault in faults:
        label = f"{fault.place}: [{fault.name}]"
        if fault.name in seen:
            wrong.append(f"{label} has the name of {seen[fault.name]}")
        seen[fault.name] = fault.place
        if not (fault.what and fault.tests and fault.old):
            wrong.append(f"{label} wants 'what:', 'tests:' and lines with '- '")
            continue
        try:
            source = (root / fault.file).read_text()
            if fault.planted(source) == source:
                wrong.append(f"{label} changes nothing")
        except OSError as error:
            wrong.append(f"{label}: {error}")
        except ListError as error:
            wrong.append(str(error))
    return wrong


def follow(faults: list[Fault], sources: dict[str, str]) -> dict[str, str]:
    """Where the text of faults has gone whose file is not there or has it no longer: from the place of a fault to the one file
    of `sources` (path and text) that has it once. Texts in no file, or in several, are left out."""
    moved = {}
    for fault in faults:
        old = "\n".join(fault.old)
        if sources.get(fault.file, "").count(old) == 1:
            continue
        found = [path for path, text in sources.items() if text.count(old)]
        if len(found) == 1 and sources[found[0]].count(old) == 1:
            moved[fault.place] = found[0]
    return moved


def read_lists(parts: list[str]) -> list[Fault]:
    faults = []
    for part in parts:
        faults += read_list(part, (HERE / f"{part}.txt").read_text())
    return faults
