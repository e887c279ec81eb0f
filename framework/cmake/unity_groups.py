#!/usr/bin/env python3
"""unity_groups.py SIZE SOURCE...: which sources may be compiled as one. Prints a number for each, separated by semicolons.

Sources of one number, at most SIZE, define different names, and use the same namespaces whole. Definitions are known by
their form: they begin in the first column.
"""
import re
import sys
from pathlib import Path

TYPE = re.compile(r"(?:struct|class|enum class|enum|union|using)\s+(\w+)")
OTHER = re.compile(r"[^({=\[]*[ *&>](\w+)\s*(?:\[[^\]]*\]\s*)*[({=;]")  # not Class::member
VALUES = re.compile(r'#include "(tests/golden/.*)"')  # which define short names


def names_of(source):
    """Those it defines, and the namespaces it uses."""
    names, used = set(), set()
    for line in source.read_text(errors="replace").splitlines():
        if line.startswith("using namespace"):
            used.add(line)
        elif match := TYPE.match(line) or VALUES.match(line):
            names.add(match[1])
        elif re.match("(?!namespace|template)[a-zA-Z]", line) and (match := OTHER.match(line)):
            names.add(match[1])
    return names, used


def main():
    size, groups, numbers = int(sys.argv[1]), [], []
    for source in sys.argv[2:]:
        names, used = names_of(Path(source))
        for number, (members, taken, others) in enumerate(groups):
            if members < size and used == others and not names & taken:
                groups[number] = (members + 1, names | taken, used)
                break
        else:
            number = len(groups)
            groups.append((1, names, used))
        numbers.append(str(number))
    print(";".join(numbers))


main()
