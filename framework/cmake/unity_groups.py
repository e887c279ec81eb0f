#!/usr/bin/env python3
"""unity_groups.py SIZE SOURCE...: which sources may be compiled as one. Prints a number for each, separated by semicolons.

Sources of one number, at most SIZE, use the same namespaces whole, and none defines a name that another defines or finds in
a header it includes itself. Definitions are known by their form: they begin in the first column.
"""
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPE = re.compile(r"(?:struct|class|enum class|enum|union|using)\s+(\w+)")
OTHER = re.compile(r"(?:\[\[\w+\]\] )?(?!namespace|template)[a-zA-Z][^({=\[]*[ *&>](\w+)\s*(?:\[[^\]]*\]\s*)*[({=;]")  # not Class::member
NAMESPACE = re.compile(r"namespace (?:\w+::)*(\w+) \{")
INCLUDE = re.compile(r'#include "(.*)"')


class File:
    """Its names, those of the headers it includes, and which it has for itself: in an unnamed namespace, or in no header."""

    def __init__(self, path):
        self.names, self.own, self.namespaces, self.used, self.included = set(), set(), set(), set(), set()
        unnamed = False
        if not path.exists():  # generated, and not there yet: a group of its own
            self.used.add(str(path))
            return
        for line in path.read_text(errors="replace").splitlines():
            if line == "namespace {":
                unnamed = True
            elif line.startswith("}  // namespace"):
                unnamed = False
            elif line.startswith("using namespace"):
                self.used.add(line)
            elif match := NAMESPACE.match(line):
                self.namespaces.add(match[1])
            elif match := INCLUDE.match(line):
                self.included |= names_of(match[1])
            elif match := TYPE.match(line) or OTHER.match(line):
                self.names.add(match[1])
                if unnamed:
                    self.own.add(match[1])
        self.own |= self.names - self.included

    def goes_with(self, other):
        return self.used == other.used and not (
            self.own & (other.names | other.included) or other.own & (self.names | self.included))


@functools.cache
def names_of(header):
    path = ROOT / header
    if not path.exists():
        return set()
    file = File(path)
    return file.names | file.namespaces | file.included


def main():
    size, groups, numbers = int(sys.argv[1]), [], []
    for source in map(File, map(Path, sys.argv[2:])):
        fitting = (group for group in groups if len(group) < size and all(map(source.goes_with, group)))
        group = next(fitting, None)
        if group is None:
            groups.append(group := [])
        group.append(source)
        numbers.append(str(groups.index(group)))
    print(";".join(numbers))


main()
