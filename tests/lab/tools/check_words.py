#!/usr/bin/env python3
"""Counts sentence patterns that make English hard to read, in comments, pages, messages and names of tests:
check_words.py [--list] [PATH...].

Each pattern has a budget in words_budget.txt, which may only fall. Without words, fails if a count exceeds its budget, and asks for
a lower budget if a count is below it. --list prints each hit of the files below the paths. --budget rewrites the budget.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]
BUDGET = pathlib.Path(__file__).with_name("words_budget.txt")
# The start of a comment, a message, a list item, a cell of a table, or a sentence.
START = r"(?:^|(?<=[.!?:] ))"
PATTERNS = {
    # Begin with the noun that the reader looks for, or with a verb.
    "What": START + r"What\b(?![^.]*\?)",
    "Of": START + r"Of\b",
    "The same": START + r"The same\b",
    "Those": START + r"Those\b",
    "As": START + r"As (?!if\b|long\b|soon\b|a result\b)",
    "Likewise": r"(?i)\blikewise\b",
    # Negate the verb.
    "is none": r"\b(?:is|are|was|were|has|have|be) none\b|\bno (?:such )?(?:one|ones)\b|\bis no (?!longer)|\bare no (?!longer)",
    "nothing but": r"\bnothing but\b|\bnone but\b",
    # Persons where there are none.
    "nobody": r"(?i)\b(?:nobody|somebody|whoever|everybody|anybody)\b",
    "one's own": r"\bone's\b|\bof (?:its|their) own\b|\bof (?:your|my) own\b",
    "wants": r"\b(?:wants?|wanted)\b(?! to\b)",
    # Place words.
    "behind": r"(?i)\bbehind\b",
    "beside": r"(?i)\bbeside\b",
    "stands": r"\b(?:stand|stands|stood|lie|lies|lay) (?:in|at|on|for|there|here|before|below|above|with|one|apart|alone|by|under|next|where)\b",
    "begins": r"(?i)\b(?:begins?|began|begun|beginning)\b",
    "anew": r"(?i)\banew\b",
    "so many": r"(?i)\bso (?:many|much|often)\b(?! (?:that|as)\b)",
    # Words of another century, and private ones.
    "mend": r"(?i)\bmend(?:s|ed|ing)?\b",
    "depart": r"(?i)\b(?:departs?|hardly|thereof|thereby|whereby|apart from that|hitherto)\b",
    "go on": r"\b(?:go|goes|went|going) on\b",
    "is told": r"\b(?:is|are|was|be) (?:told|asked)\b",
    "that of": r"\bthat of\b|\bthose of\b",
    "but for": r"\bbut for\b|\bnor is\b|\bnor are\b|\bneither is\b",
    "brings along": r"\bbrings? along\b|\bcomes? about\b|\bbear(?:s)? in mind\b",
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inl")
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt", ".toml", ".js", ".css")


def comments_of(text, name):
    """Yields (line, text) of each run of comment lines, joined."""
    begin, words = 0, []
    mark = re.compile(r"^\s*(?:///<?|//|\*)\s?(.*)$") if name.endswith((*SOURCES, ".js", ".css")) else re.compile(r"^\s*#(?!!)\s?(.*)$")
    trailing = re.compile(r"(?:///<|\s//)\s*(\S.*)$")
    for number, line in enumerate(text.splitlines(), 1):
        if match := mark.match(line):
            if not words:
                begin = number
            words.append(match[1].strip())
            continue
        if words:
            yield begin, " ".join(words).strip()
            words = []
        if name.endswith(SOURCES) and (match := trailing.search(line)):
            yield number, match[1]
    if words:
        yield begin, " ".join(words).strip()
    if name.endswith(".py"):
        for match in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[1].split())


def without_code(comment):
    """Leaves out names in backquotes and half-open ranges, as in [begin, end)."""
    return re.sub(r"`[^`]*`|\[begin, end\)", "`x`", comment)


LITERALS = r'(?:"(?:[^"\\\n]|\\.)*"\s*)+'


def joined(literals):
    """Returns the content of adjacent string literals."""
    return "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals))


def messages_of(text):
    """Yields (line, text) of each string literal of at least three words; adjacent literals are joined."""
    code = re.sub(r"^\s*#include.*$|//.*$", "", text, flags=re.MULTILINE)
    for match in re.finditer(LITERALS, code):
        message = joined(match[0])
        if message.count(" ") >= 2:
            yield code.count("\n", 0, match.start()) + 1, message


def tests_of(text):
    """Yields (line, name) of each test case; a name starts with a capital here, as a sentence does."""
    for match in re.finditer(rf"TEST_CASE\w*\(\s*({LITERALS})", text):
        name = joined(match[1])
        yield text.count("\n", 0, match.start()) + 1, name[:1].upper() + name[1:]


def prose_of(text):
    """Yields (line, text) of the paragraphs, list items and cells of a page, without its code."""
    text = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    begin, words = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = re.sub(r"`[^`]*`", "`x`", line)
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)$", line)
        if (not line.strip() or line.startswith(("|", "#")) or item) and words:
            yield begin, " ".join(words)
            words = []
        if line.startswith("|"):
            for cell in line.strip("|").split("|"):
                yield number, cell.strip()
        elif line.startswith("#"):
            yield number, line.lstrip("# ")
        elif line.strip():
            if not words:
                begin = number
            words.append(item[1] if item else line.strip())


def hits_of(name, text):
    """Yields (kind, pattern, line, text) of a file."""
    if name.endswith(".md"):
        units = [("pages", *unit) for unit in prose_of(text)]
    elif name.endswith((*SOURCES, *SCRIPTS)):
        units = [("comments", line, without_code(unit)) for line, unit in comments_of(text, name)]
        if name.endswith(SOURCES) and not name.startswith("tests/"):
            units += [("messages", *unit) for unit in messages_of(text)]
        elif name.endswith(SOURCES):
            units += [("tests", *unit) for unit in tests_of(text)]
    else:
        return
    for kind, line, unit in units:
        for pattern, compiled in COMPILED.items():
            for _ in compiled.finditer(unit):
                yield kind, pattern, line, unit


def self_test():
    text = '/// What it is. Of all of them nothing is left.\nint x;  ///< behind it\nfail("it wants\\n more {}" " of it");\n// begin_ and a\n'
    found = [(kind, pattern) for kind, pattern, *_ in hits_of("a.h", text)]
    assert sorted(found) == [("comments", "Of"), ("comments", "What"), ("comments", "behind"), ("messages", "wants")], found
    assert [hit[:2] for hit in hits_of("tests/a.cpp", 'TEST_CASE("what is wrong " "is told") { x("behind it now"); }')] == [
        ("tests", "What"), ("tests", "is told")]
    assert [pattern for _, pattern, *_ in hits_of("a.md", "A\n\n* Those are x\n\n```\nWhat it is\n```\n")] == ["Those"]
    assert not list(hits_of("a.h", "/// What is it?\n// As long as it runs, x is no longer set.\n"))


def main():
    self_test()
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    names = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    counts = collections.Counter()
    for name in names:
        if name.startswith("tests/golden/") or name == "tests/lab/tools/check_words.py" or not (ROOT / name).is_file():
            continue
        for kind, pattern, line, unit in hits_of(name, (ROOT / name).read_text(errors="replace")):
            counts[kind, pattern] += 1
            if "--list" in sys.argv:
                print(f"{name}:{line}: {pattern}: {unit[:300]}")
    if words or "--list" in sys.argv:
        print(", ".join(f"{pattern} ({kind}) {count}" for (kind, pattern), count in sorted(counts.items())), "; all", sum(counts.values()))
        return 0
    if "--budget" in sys.argv:
        BUDGET.write_text("".join(f"{kind} {count} {pattern}\n" for (kind, pattern), count in sorted(counts.items())))
    budget = {(kind, pattern): int(count) for kind, count, pattern in
              (line.split(" ", 2) for line in BUDGET.read_text().splitlines())}
    bad = [f"words: '{pattern}' in {kind}: {counts[kind, pattern]} times; {budget.get((kind, pattern), 0)} is the budget: see "
           f"check_words.py --list" for kind, pattern in sorted(counts) if counts[kind, pattern] > budget.get((kind, pattern), 0)]
    bad += [f"words: '{pattern}' in {kind}: {counts[kind, pattern]} times; lower the budget of {limit}: check_words.py --budget"
            for (kind, pattern), limit in sorted(budget.items()) if counts[kind, pattern] < limit]
    print("\n".join(bad) or f"words: {sum(counts.values())} patterns to avoid, as budgeted")
    return 1 if bad else 0


sys.exit(main())
