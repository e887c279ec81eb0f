#!/usr/bin/env python3
"""What clang-format cannot see: sizes of files and folders, the fixed top level, promises left open, machine paths."""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]
TOP = {"CMakeLists.txt", "CMakePresets.json", "README.md", "framework", "callbacks", "models", "data", "apps", "tests"}
MAX_LINES = 500
# Maximum number of sources in a folder of the product (ADR 0038).
MAX_FILES = 35
OPEN_PROMISE = re.compile(r"\b(TODO|FIXME|XXX)\b")
SUITE_CASE_WITH_COMMA = re.compile(r'^ +TEST_CASE\("[^"]*,')
# CMake takes such a name for a list, and its case would not be run.
CASE_WITH_LIST = re.compile(r'^ *TEST_CASE\(\s*"[^"]*[;\[\]]', re.M)
# Only kernels may have the address of memory that may be a device's: span and item are for the host.
DEVICE_ADDRESS = re.compile(r"\.(template )?data<[^;]*>\(\)")
KERNELS = ("framework/kernels/", "framework/runtime/", "framework/tensor/", "tests/", "apps/bench/")
# Words that gave way to the field's own (ADR 0015), and what is said instead.
RETIRED = {
    r"\b[Tt]wins?\b|[a-z]_twin\b|Twin[A-Z:]": "implementation (reference, CPU, CUDA)",
    r"\b[Cc]hoosers?\b": "dispatcher",
    r"\bkMost[A-Z]": "kMax...",
    r"\bforget_attempt\b|\bsettle_(batch|epoch)\b": "begin_attempt, finish_batch, finish_epoch",
    r"\basking\(\)": "current_handler()",
    r"\bThroughHost\b": "HostStagingVisitor",
    r"\bjoin_sums\b|\bmost_sums\b|\bcut_columns\b": "reduce_partials, max_partials, tile_columns",
    r"\bBent\b|\bUntold\b|\bMadeCallback\b": "LeakyRelu, NotFromText, CallbackWithEvents",
    r"\b(take_apart|in_the_way|give_up|known_from|helpless)\b": "parse_spec, uncapturable_listeners, fall_back_to_eager, "
                                                            "restrict_to, cannot_recover",
    r"\bbelongs? into\b": "belongs in",
    r"\b(goes|went|gone|going|go) on (with|where|from|inside|changing)\b": "continues, resumes, keeps",
    r"[Pp]icture": "image",
    r"\bOptimRun\b": "OptimTensors",
    r"\bunless told otherwise\b|\bwhen told nothing\b": "by default",
}
MAX_PROSE = 100
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root)/")


def files():
    if not (ROOT / ".git").exists():  # an unpacked archive: everything in it is the project
        return [str(f.relative_to(ROOT)) for f in ROOT.rglob("*")
                if f.is_file() and f.relative_to(ROOT).parts[0] not in ("build", "runs")]
    # The clone may be another user's, as under sudo.
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return [line for line in listed.splitlines() if (ROOT / line).is_file()]


def wide_prose(text):
    """Numbers of the lines of a page that exceed the limit, outside of tables, headings, code and what cannot be divided."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and len(line) > MAX_PROSE and not line.startswith(("|", "#", "    ")) \
                and not re.fullmatch(r"\s*(?:[-*] )?`[^`]*`\S*", line):
            yield number


def complaints(name, text):
    lines = text.splitlines()
    if name.endswith(".md") and not name.startswith("tests/"):  # those are generated
        for number in wide_prose(text):
            yield f"{name}:{number}: prose exceeds {MAX_PROSE} columns"
    if name.endswith((".h", ".cpp", ".cu", ".cuh", ".py", ".sh")) and len(lines) > MAX_LINES \
            and not name.startswith("tests/golden/"):
        yield f"{name}: {len(lines)} lines; split it, {MAX_LINES} is the limit"
    if name == "tests/lab/tools/check_sources.py":
        return
    for found in CASE_WITH_LIST.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield f"{name}:{line}: a bracket or semicolon in the name of a case: ctest would not run it"
    for number, line in enumerate(lines, 1):
        if OPEN_PROMISE.search(line):
            yield f"{name}:{number}: an open promise: finish it or file an issue"
        if MACHINE_PATH.search(line):
            yield f"{name}:{number}: a path of one machine"
        if name.endswith((".h", ".cpp")) and not name.startswith(KERNELS) and DEVICE_ADDRESS.search(line):
            yield f"{name}:{number}: data<T>() is for kernels, it may point to a device's memory: use span or item"
        if name.endswith((".h", ".cpp", ".cu", ".cuh", ".md")) and "/adr/" not in name:
            for word, instead in RETIRED.items():
                if found := re.search(word, line):
                    yield f"{name}:{number}: '{found.group(0)}' is a retired word: say {instead}"
        if SUITE_CASE_WITH_COMMA.search(line):
            yield f"{name}:{number}: a comma in the name of a suite's case loses its ctest label"


def crowded(names):
    """Folders of the product that hold more files than a newcomer takes in."""
    held = collections.Counter(str(pathlib.PurePath(name).parent) for name in names
                               if name.endswith((".h", ".cpp", ".cu", ".cuh")) and not name.startswith("tests/"))
    return [f"{folder}: {count} sources; make a folder of some, {MAX_FILES} is the limit"
            for folder, count in held.items() if count > MAX_FILES]


def main():
    assert list(complaints("a.h", "x\n" * (MAX_LINES + 1))) and list(complaints("a.h", "// TODO: x")) \
        and list(complaints("a.cpp", '  TEST_CASE("slow, very") {')) \
        and list(complaints("a.cpp", 'TEST_CASE(\n    "one; two") {')) \
        and list(complaints("a.h", "/// The CUDA twin of add.")) and not list(complaints("a.h", "/// between two")) \
        and list(complaints("callbacks/a.cpp", "x = norm.data<float>()[0];")) \
        and not list(complaints("callbacks/a.cpp", "x = norm.span<float>().data();")) \
        and list(wide_prose("a " * 51 + "\n")) == [1] and not list(wide_prose("```\n" + "a " * 51 + "\n```\n")) \
        and crowded([f"data/{i}.h" for i in range(36)]) and not crowded([f"data/{i}.h" for i in range(35)])
    names = files()
    bad = crowded(names)
    for name in names:
        top = name.split("/")[0]
        if top not in TOP and not top.startswith("."):
            bad.append(f"{name}: nothing else belongs at the top level")
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        bad += complaints(name, text)
    print("\n".join(bad) or f"sources: {len(names)} files are in order")
    sys.exit(1 if bad else 0)


main()
