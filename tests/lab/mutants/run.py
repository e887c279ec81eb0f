#!/usr/bin/env python3
"""Plants the faults of tests/lab/mutants/*.txt one by one, in a copy of the tree, and reports which ones the tests notice.

tests/run.sh --mutants [PART...]     all parts, or the named ones
    --list            only list the faults
    --check           only check that every fault still fits the sources; part of the default tests
    --only NAME       this fault, regardless of earlier results; may be repeated
    --likely          only the tests that are likely to notice, so "not noticed" is uncertain; for writing lists
    --fresh           ignore the results of earlier runs
    --jobs N          parallel compilers and tests (default: number of processors)

For each fault the affected files are built, then tests run until one fails: the programs that its list names, the other
test programs, and all other default tests (those without the label slow). A test that takes ten times as long as without
the fault, and a minute, counts as hanging, and the fault as noticed. Results are kept in build/mutants/results.json, so a
stopped run continues: noticed faults are not tried again, and others only if the tree has changed. CUDA kernels run on
the fake device; without nvcc their parts are skipped.

Exit status: 0; 1 if fewer than 95 % are noticed, or a fault does not compile; 2 for a list that does not fit.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import faults as lists
from faults import Fault, ListError, PARTS, ROOT

WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
WANTED = 0.95
MEMORY = 8 << 30  # a fault may ask for any amount
# These read the sources' text or the kernels' machine code: they would notice any change, and no fault.
READERS = r"^(tools|gpu): "


class CleanTreeFails(Exception):
    """Tests fail, or do not build, without any fault."""


def sources() -> list[str]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        names = listed.rstrip("\0").split("\0")
    except (OSError, subprocess.CalledProcessError):  # not a checkout
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if "build" not in path.relative_to(ROOT).parts]
    return sorted(name for name in set(names) if (ROOT / name).is_file() and not (ROOT / name).is_symlink())


def copy_tree() -> str:
    """Brings the copy up to date, touching no file that is the same. Returns a hash of all of it."""
    digest = hashlib.sha256()
    names = sources()
    for name in names:
        content = (ROOT / name).read_bytes()
        if not name.startswith("tests/lab/mutants/"):
            digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
        copy = TREE / name
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy)
    known = set(names)
    for path in TREE.rglob("*"):
        name = path.relative_to(TREE)
        if name.parts[0] != "build" and path.is_file() and str(name) not in known:
            path.unlink()
    return digest.hexdigest()[:16]


def run(command: list[str], seconds: float, folder: Path, environment: dict[str, str] | None = None) -> tuple[int | None, str]:
    """Exit status, None after that many seconds, and the output."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if folder != TREE and folder.name != "cuda":  # the fake device reserves addresses for a whole GPU
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **(environment or {})}, start_new_session=True, preexec_fn=limits) as process:
        try:
            output = process.communicate(timeout=seconds)[0]
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, status = process.communicate()[0], None
    return status, output.decode(errors="replace")


def cases_of(programs: list[str]) -> str:
    """A pattern for the tests that are single cases of these programs, and for those that read the sources. A name that
    continues with a blank, such as "tests_apps: eval end to end", is a separate test."""
    return rf"{READERS}|^({'|'.join(programs)}):[^ ]"


def is_script(test: str) -> bool:
    return test.endswith((".py", ".sh"))


class Build:
    """A build of the copy, with CUDA or without."""

    def __init__(self, cuda: bool, jobs: int) -> None:
        self.cuda, self.jobs = cuda, jobs
        # At the same depth in its tree as a developer's build, so that ccache can reuse its objects.
        self.folder = TREE / "build" / ("cuda" if cuda else "cpu")
        launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("CXX", "CUDA")] if shutil.which("ccache") else []
        os.environ.setdefault("CCACHE_NOHASHDIR", "1")
        os.environ.setdefault("CCACHE_BASEDIR", str(TREE))
        status, output = run(["cmake", "--preset", "release", "-B", str(self.folder), f"-DLEARN_CUDA={'AUTO' if cuda else 'OFF'}",
                              *launcher], 600, TREE)
        if status != 0:
            raise CleanTreeFails(f"cmake fails:\n{output[-3000:]}")
        self.has_cuda = "CUDA backend: on" in output

    def make(self, targets: list[str]) -> str:
        """Why it does not compile; empty if it does."""
        status, output = run(["cmake", "--build", str(self.folder), "--parallel", str(self.jobs), "--target", *targets],
                             7200, TREE)
        errors = re.findall(r"^.*(?:error|undefined reference).*$", output, re.MULTILINE)
        return "" if status == 0 else (errors[0] if errors else output[-500:])

    def programs(self) -> list[str]:
        """The test programs each of whose cases is a test."""
        listed = run(["ctest", "--test-dir", str(self.folder), "--show-only=json-v1"], 600, TREE)[1]
        commands = [test.get("command", []) for test in json.loads(listed[listed.index("{"):])["tests"]]
        return sorted({Path(command[0]).name for command in commands
                       if any(word.startswith("--test-case=") for word in command)})


class Trial:
    """Runs tests on whatever is built until one fails."""

    def __init__(self, build: Build, known: dict[str, float]) -> None:
        self.build, self.clean_seconds, self.is_clean = build, known, True
        self.all_programs: list[str] | None = None

    def step(self, name: str, command: list[str]) -> str:
        """The test that failed, empty if none did. In the clean tree it measures times, and no test may fail."""
        limit = 3600.0 if self.is_clean else 60 + 10 * self.clean_seconds[name]
        began = time.monotonic()
        status, output = run(command, limit, self.build.folder)
        if self.is_clean:
            self.clean_seconds[name] = time.monotonic() - began
        if status == 0:
            return ""
        # The last one: a case that passes may have printed something before.
        cases = re.findall(r"TEST CASE:\s+(.*)", output)[-1:] or re.findall(r"^\s*\d+ - (.*) \((?!Skipped)", output, re.MULTILINE)
        noticed = f"{name}: {cases[0].strip() if cases else f'status {status}'}" + (" (hangs)" if status is None else "")
        if self.is_clean:
            raise CleanTreeFails(f"without any fault, {noticed}\n{output[-3000:]}")
        return noticed

    def program(self, name: str) -> str:
        if is_script(name):
            interpreter = sys.executable if name.endswith(".py") else "bash"
            return self.step(name, [interpreter, str(TREE / "tests/apps" / name), str(self.build.folder / "bin/learn")])
        if re.search("cuda|fake|mpi$", name):  # ctest knows how they are started
            return self.ctest(name, ["--tests-regex", f"^{name}( on FAKE|:)"])
        return self.step(name, [str(self.build.folder / "bin" / name), "--abort-after=1", "--test-suite-exclude=slow"])

    def ctest(self, name: str, words: list[str]) -> str:
        return self.step(name, ["ctest", "--test-dir", str(self.build.folder), "--label-exclude", "slow", "--stop-on-failure",
                                "--no-tests=error", "--parallel", str(self.build.jobs), *words])

    def likely(self, tests: list[str]) -> str:
        for name in tests:
            if self.is_clean and name in self.clean_seconds:
                continue
            target = "learn" if is_script(name) else name
            if error := self.build.make([target, *(["fakecuda", "kernellog"] if self.build.cuda else [])]):
                return f"does not compile: {error}"
            if noticed := self.program(name):
                return noticed
        return ""

    def rest(self, but: list[str]) -> str:
        if error := self.build.make(["all"]):
            return f"does not compile: {error}"
        if self.all_programs is None:
            self.all_programs = self.build.programs()
        for name in self.all_programs:
            if name in but or "cuda" in name or (self.is_clean and name in self.clean_seconds):
                continue
            if noticed := self.program(name):
                return noticed
        if self.is_clean and "other tests" in self.clean_seconds:
            return ""
        done = [name for name in self.all_programs if "cuda" not in name]
        return self.ctest("other tests", ["--exclude-regex", cases_of(done)])


class Results:
    """Earlier results of faults, and the times of tests in the clean tree."""

    def __init__(self, tree: str, fresh: bool) -> None:
        self.file, self.tree = WORK / "results.json", tree
        self.known: dict = {"faults": {}, "clean": {}}
        if self.file.is_file() and not fresh:
            self.known = json.loads(self.file.read_text())

    def clean(self, build: Build) -> dict[str, float]:
        return self.known["clean"].setdefault(f"{self.tree} {build.folder.name}", {})

    def of(self, fault: Fault, likely: bool) -> str | None:
        """The test that noticed it, "" if none did, None if it must be tried."""
        entry = self.known["faults"].get(fault.key())
        if entry is None or (not entry["noticed"] and (entry["tree"] != self.tree or entry["likely"] > likely)):
            return None
        return str(entry["noticed"])

    def note(self, fault: Fault, noticed: str, likely: bool, seconds: float) -> None:
        self.known["faults"][fault.key()] = {"name": fault.name, "noticed": noticed, "likely": likely, "tree": self.tree,
                                             "seconds": round(seconds)}
        self.save()

    def save(self) -> None:
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self.known, indent=1))
        part.replace(self.file)


def plant(fault: Fault, trial: Trial, likely: bool) -> str:
    file = TREE / fault.file
    clean = file.read_text()
    file.write_text(fault.planted(clean))
    trial.is_clean = False
    try:
        return trial.likely(fault.tests) or ("" if likely else trial.rest(fault.tests))
    finally:
        file.write_text(clean)
        trial.is_clean = True


def try_part(part: str, faults: list[Fault], results: Results, options: argparse.Namespace) -> list[tuple[Fault, str]] | None:
    """Each fault and what noticed it; None if the part cannot be tried here."""
    build, trial = None, None
    outcome = []
    for fault in sorted(faults, key=lambda each: each.file):
        known = None if options.only else results.of(fault, options.likely)
        if known is None:
            if trial is None:
                build = Build(part in ("kernels_cuda", "nccl"), options.jobs)
                if build.cuda and not build.has_cuda:
                    return None
                trial = Trial(build, results.clean(build))
            # In the clean tree first: the programs must pass, and the time they take is the measure.
            if (noticed := trial.likely(fault.tests) or ("" if options.likely else trial.rest(fault.tests))):
                raise CleanTreeFails(f"without any fault: {noticed}")
            results.save()
            began = time.monotonic()
            known = plant(fault, trial, options.likely)
            results.note(fault, known, options.likely, time.monotonic() - began)
        outcome.append((fault, known))
        word = known or ("perhaps NOT NOTICED" if options.likely else "NOT NOTICED")
        print(f"{part}  {fault.name}: {word}", flush=True)
    return outcome


def summary(outcomes: dict[str, list[tuple[Fault, str]] | None]) -> int:
    print(f"\n{'part':14} {'faults':>6} {'noticed':>8} {'not':>4} {'do not compile':>15}")
    total = good = broken = 0
    for part, outcome in outcomes.items():
        if outcome is None:
            print(f"{part:14} skipped: there is no nvcc")
            continue
        bad = sum(noticed.startswith("does not compile") for _, noticed in outcome)
        missed = sum(not noticed for _, noticed in outcome)
        noticed = len(outcome) - bad - missed
        print(f"{part:14} {len(outcome):6} {noticed:8} {missed:4} {bad:15}")
        total, good, broken = total + len(outcome), good + noticed, broken + bad
    share = good / total if total else 1.0
    print(f"{'all':14} {total:6} {good:8} {total - good - broken:4} {broken:15}   {100 * share:.1f} % noticed")
    for part, outcome in outcomes.items():
        for fault, noticed in outcome or []:
            if not noticed or noticed.startswith("does not compile"):
                print(f"\n{fault.place}: [{fault.name}] {noticed or 'not noticed'}\n  {fault.file}: {fault.what}")
    return 0 if share >= WANTED and not broken else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/run.sh --mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    for flag in ["list", "check", "follow", "likely", "fresh"]:
        parser.add_argument(f"--{flag}", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help=argparse.SUPPRESS)
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'; there are {', '.join(PARTS)}")
    return options


def follow(faults: list[Fault]) -> None:
    """Updates the paths of faults whose text moved to another file."""
    texts = {name: (ROOT / name).read_text() for name in sources()
             if name.endswith((".h", ".cpp", ".cu", ".cuh")) and not name.startswith("tests/")}
    for place, path in lists.follow(faults, texts).items():
        list_name, number = place.split(":")
        file = lists.HERE / list_name
        lines = file.read_text().splitlines(keepends=True)
        heading = lines[int(number) - 1]
        lines[int(number) - 1] = f"{heading.split()[0]} {path}\n"
        file.write_text("".join(lines))
        print(f"{place}: {heading.strip()} is in {path} now")


def main() -> int:
    options = parse()
    chosen = lists.read_lists(options.parts or PARTS)
    if options.follow:
        follow(chosen)
        chosen = lists.read_lists(options.parts or PARTS)
    if wrong := lists.check(chosen, ROOT):
        print(*wrong, f"{len(wrong)} of {len(chosen)} faults do not fit the sources: bring the lists up to date", sep="\n")
        return 2
    if options.check or options.follow:
        print(f"{len(chosen)} faults fit the sources")
        return 0
    if options.list:
        for fault in chosen:
            print(f"{fault.part}  {fault.name}  {fault.file}: {fault.what}")
        return 0
    if unknown := set(options.only) - {fault.name for fault in chosen}:
        print(f"error: there is no fault named {', '.join(sorted(unknown))}; see --list", file=sys.stderr)
        return 2
    if options.only:
        chosen = [fault for fault in chosen if fault.name in options.only]
    TREE.mkdir(parents=True, exist_ok=True)
    results = Results(copy_tree(), options.fresh)
    outcomes = {}
    try:
        for part in PARTS:
            if faults := [fault for fault in chosen if fault.part == part]:
                outcomes[part] = try_part(part, faults, results, options)
    except CleanTreeFails as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return summary(outcomes)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ListError as error:
        sys.exit(f"error: {error}")
