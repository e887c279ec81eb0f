#!/usr/bin/env python3
"""Fails for an error that the sources can raise and no test does, unless errors_not_raised.txt has it, with a reason.

check_errors.py LOG [--without-cuda], or --list, which only checks that each line of the list fits one error. The tests ran with LEARN_ERROR_LOG=LOG: framework/core/error.h added the place
of each error to it. --without-cuda leaves out the files of the CUDA backend, which was not built. A place is a call of
fail or check, or of a helper that raises in the name of its caller. A self-test shows each time that a gap is found.
"""
import argparse
import pathlib
import re
import sys
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

ROOT = pathlib.Path(__file__).parents[3]
ROOMS = ("framework", "callbacks", "models", "data", "apps")
LIST = ROOT / "tests/lab/tools/errors_not_raised.txt"
ERROR_H = "framework/core/error.h"
# Errors under a heading that starts with this may be raised on another machine.
ELSEWHERE = "only on some machines: "

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
HELPER = re.compile(r"\[\[noreturn\]\] void (\w+)\([^;]*?\bSourceLocation at = SourceLocation::current\(\)\)")
THROW = re.compile(r"\bthrow\b(?!\s*;)")
CUDA = re.compile(r"/cuda/|\.cuh?$")


class Place(NamedTuple):
    file: str
    first: int
    last: int  # line
    text: str  # from the condition to the last argument

    def __str__(self) -> str:
        return f"{self.file}:{self.first}: {self.text}"


def blank(source: str, texts: bool) -> str:
    """Blanks comments and, if requested, quoted text, without moving anything."""
    def blanked(found: "re.Match[str]") -> str:
        word = found.group(0)
        if word.startswith("/"):
            return re.sub(r"[^\n]", " ", word)
        return '"' + re.sub(r"[^\n]", "_", word[1:-1]) + '"' if texts else word
    return COMMENT_OR_TEXT.sub(blanked, source)


def end_of_call(code: str, opened: int) -> int:
    depth = 0
    for at in range(opened, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at + 1
    raise ValueError("a parenthesis is not closed")


def helpers_of(source: str) -> Set[str]:
    return set(HELPER.findall(blank(source, texts=True)))


def places_of(file: str, source: str, helpers: Set[str]) -> Iterator[Place]:
    code, shown = blank(source, texts=True), blank(source, texts=False)
    names = "|".join([r"fail<[\w:]+>", r"check(?:<[\w:]+>)?", *sorted(helpers)])
    for found in re.finditer(rf"(?<![\w.>:])(?:learn::)?({names})\(", code):
        end = end_of_call(code, found.end() - 1)
        call = code[found.start():end]
        if found.group(1) == "check" and '"' not in call:
            continue  # another function of that name
        if found.group(1) in helpers and ("SourceLocation at" in call or call.endswith(", at)")):
            continue  # the helper itself, or a call from another one
        begin = max(code.rfind(mark, 0, found.start()) for mark in ";{}") + 1
        text = re.sub(r"\s+", " ", re.sub(r'"\s+"', "", shown[begin:end])).strip()
        yield Place(file, code.count("\n", 0, found.start()) + 1, code.count("\n", 0, end) + 1, text)


def unwatched(file: str, source: str, places: List[Place]) -> Iterator[str]:
    code = blank(source, texts=True)
    for found in THROW.finditer(code):
        yield f"{file}:{code.count(chr(10), 0, found.start()) + 1}: raise an error with fail, which notes its place"
    for found in re.finditer(r"\bfail_from<[\w:]+>\((?!\s*at,)", code):
        yield f"{file}:{code.count(chr(10), 0, found.start()) + 1}: fail_from wants the place of the caller, 'at'"
    for one, other in zip(places, places[1:]):
        if other.first <= one.last:
            yield f"{other}\n  shares a line with another error: nobody can tell which is raised"


def read_list(text: str) -> Iterator[Tuple[str, str, str]]:
    """Reason, file, and a part of the place's text."""
    reason = ""
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]"):
            reason = line[1:-1]
        elif line and not line.startswith("#"):
            file, _, part = line.partition(": ")
            yield reason, file, part


def misfits(places: List[Place], entries: List[Tuple[str, str, str]]) -> Iterator[str]:
    for reason, file, part in entries:
        fitting = sum(place.file == file and part in place.text for place in places)
        if not reason or not part:
            yield f"{LIST.name}: '{file}: {part}' wants a reason above it and a part of the error's text"
        elif fitting != 1:
            yield f"{LIST.name}: '{file}: {part}' fits {fitting} errors, not one"


def judge(places: List[Place], raised: Set[Tuple[str, int]], entries: List[Tuple[str, str, str]]) -> Tuple[List[str], str]:
    complaints = list(misfits(places, entries))
    tested = {place for place in places if any((place.file, line) in raised
                                               for line in range(place.first, place.last + 1))}
    excused: Set[Place] = set()
    for reason, file, part in entries:
        fitting = [place for place in places if place.file == file and part in place.text]
        if not reason or not part or len(fitting) != 1:
            continue
        if fitting[0] in tested and not reason.startswith(ELSEWHERE):
            complaints.append(f"{LIST.name}: '{file}: {part}' is raised by a test: remove it from the list")
        else:
            excused.update(fitting)
    missing = [place for place in places if place not in tested | excused]
    complaints += [f"{place}\n  is raised by no test: write one, or say why not in {LIST.name}" for place in missing]
    return complaints, f"errors: {len(places)} places, {len(tested)} raised by tests, " \
                       f"{len(excused - tested)} listed with a reason"


def self_test() -> None:
    source = '''
// fail<Comment>("x");
[[noreturn]] void wrong(const std::string& a = {}, SourceLocation at = SourceLocation::current()) const {
  if (a == "fail<Text>(") fail_from<IoError>(at, "{}", a);
  other(a, at);
}
void check(const Options& options);
void f() {
  check(options);
  check<std::logic_error>(a(1) < 10'000,
                          "first {} "
                          "half", 'x');
  if (b) learn::fail<IoError>("second (", at);
  else wrong("third");
}
'''
    assert helpers_of(source) == {"wrong"}, helpers_of(source)
    places = list(places_of("a.cpp", source, {"wrong", "other"}))
    assert [(place.first, place.last) for place in places] == [(10, 12), (13, 13), (14, 14)], places
    assert places[0].text == 'check<std::logic_error>(a(1) < 10\'000, "first {} half", \'x\')'
    assert places[1].text == 'if (b) learn::fail<IoError>("second (", at)'
    assert not list(unwatched("a.cpp", source, places))
    for code in ("throw IoError(x);", 'fail_from<IoError>(here, "{}", a);'):
        assert list(unwatched("a.cpp", code, [])), code
    assert list(unwatched("a.cpp", "", list(places_of("a.cpp", 'a ? fail<A>("a") : fail<B>("b");', set()))))
    raised = {("a.cpp", 11), ("a.cpp", 14)}
    good = list(read_list("# why\n[cannot happen]\na.cpp: second\n"))
    complaints, summary = judge(places, raised, good)
    assert not complaints and summary == "errors: 3 places, 2 raised by tests, 1 listed with a reason", complaints
    assert len(judge(places, raised, [])[0]) == 1
    for bad in ("a.cpp: second", "[r]\na.cpp: gone", "[r]\nb.cpp: second", "[r]\na.cpp: i", "[r]\na.cpp: first"):
        assert judge(places, raised, good + list(read_list(bad)))[0], bad
    assert not judge(places, raised, good + list(read_list(f"[{ELSEWHERE}a GPU]\na.cpp: first")))[0]


def main() -> None:
    self_test()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("log", type=pathlib.Path, nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without-cuda", action="store_true")
    options = parser.parse_args()
    if options.log is None and not options.list:
        parser.error("give a log, or --list")
    sources: Dict[str, str] = {}
    for file in sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.*")):
        name = file.relative_to(ROOT).as_posix()
        if file.suffix in {".h", ".cpp", ".cu", ".cuh"} and name != ERROR_H \
                and not (options.without_cuda and CUDA.search(name)):
            sources[name] = file.read_text()
    places: List[Place] = []
    complaints: List[str] = []
    for name, source in sources.items():
        header = sources.get(pathlib.PurePath(name).with_suffix(".h").as_posix(), "")
        found = list(places_of(name, source, helpers_of(source) | helpers_of(header)))
        complaints += unwatched(name, source, found)
        places += found
    entries = [entry for entry in read_list(LIST.read_text())
               if not (options.without_cuda and CUDA.search(entry[1]))]
    if options.list:
        complaints += misfits(places, entries)
        print("\n".join(complaints + [f"errors: {len(entries)} that no test raises are listed"]))
        sys.exit(1 if complaints else 0)
    raised = set()
    for line in set(options.log.read_text().splitlines()):
        file, _, number = line.rpartition(":")
        # The compiler's name of a file may start with folders above the project.
        at = next((found.start() for found in re.finditer(rf"\b(?:{'|'.join(ROOMS)})/", file)
                   if file[found.start():] in sources), None)
        if at is not None:
            raised.add((file[at:], int(number)))
    more, summary = judge(places, raised, entries)
    complaints += more
    print("\n".join(complaints + [summary]))
    sys.exit(1 if complaints else 0)


main()
