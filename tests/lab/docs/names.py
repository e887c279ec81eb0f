#!/usr/bin/env python3
"""framework/docs/names.md against the sources: each name of ours that it gives is in a header, each flag and command in the command line,
each event of a row with other frameworks' names is the one that the compiler's message tells for them."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "framework/docs/names.md"
OURS = {"learn", "data", "photos", "context", "model", "source", "make_source", "options", "scaler", "half", "region", "lr", "loss", "png",
        "results"}  # words of an example's text, no names


def rows(text):
    """The cells of each row of each table, without heads and rules."""
    for line in re.findall(r"^\| .*\|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[-1] not in ("learn", "---"):
            yield cells


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def source_text(*patterns):
    return "\n".join(file.read_text() for room in ("framework", "callbacks", "data", "models") for pattern in patterns
                     for file in (ROOT / room).rglob(pattern))


def words_of(text):
    return set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))


def not_there(span, headers, command_line):
    """The names in one piece of code that are not among the words of headers, or in the text of the commands."""
    if span.startswith("--"):
        flag, _, value = span[2:].partition(" ")
        missing = [] if f'"{flag}"' in command_line or f"--{flag}" in command_line else [f"--{flag}"]
        return missing + ([value] if value.isidentifier() and value not in headers and f'"{value}"' not in command_line else [])
    if match := re.fullmatch(r"learn ([a-z-]+)", span):
        return [] if f'"{match[1]}"' in command_line else [span]
    return sorted(words_of(re.sub(r'"[^"]*"|\b[0-9][0-9a-z.F-]*', "", span)) - OURS - headers)


def main():
    headers = words_of(source_text("*.h"))
    command_line = "\n".join(file.read_text() for file in (ROOT / "apps").rglob("*.cpp")) + source_text("*.cpp")
    assert not_there("learn.no_such_thing(1e-3)", headers, command_line) == ["no_such_thing"]
    assert not_there("--no-such-flag", headers, command_line) and not_there("learn no-such", headers, command_line)
    table = list(rows(PAGE.read_text()))
    assert len(table) > 90, f"{len(table)} rows: the tables are not read"
    faults = [f"'{name}', of `{span}`, is in no header and no command" for cells in table for span in code(cells[-1])
              for name in not_there(span, headers, command_line)]
    listed = dict(re.findall(r"^  X\((\w+), (\w+)\(", (ROOT / "framework/learner/foreign_handlers.h").read_text(), re.MULTILINE))
    assert len(listed) > 60, f"{len(listed)} foreign handlers: the list is not read"
    events = [(name, code(cells[-1])[0]) for cells in table for cell in cells[:-1] for name in code(cell)
              if re.match(r"(before|after|on)_", name)]
    faults += [f"'{name}' is '{here}' in the table, and '{listed.get(name, 'nothing')}' in foreign_handlers.h" for name, here in events
               if listed.get(name) != here]
    here = {code(cells[-1])[0] for cells in table if code(cells[-1])}
    for event in re.findall(r"^  X\((\w+), ", (ROOT / "framework/learner/event.h").read_text(), re.MULTILINE):
        if event not in here:
            theirs = [name for name, ours in listed.items() if ours == event]
            faults.append(f"no row has the event '{event}'; paste, with each name in its framework's column:\n"
                          f"| {', '.join(f'`{name}`' for name in theirs) or '-'} | - | - | `{event}` |")
    for fault in faults:
        print(f"names.md: {fault}")
    print(f"names.md: {len(table)} rows, {len(events)} handlers of others")
    return 1 if faults else 0


sys.exit(main())
