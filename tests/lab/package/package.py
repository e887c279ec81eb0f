#!/usr/bin/env python3
"""Tests a project outside of the tree that uses learn: package.py WAY BUILD

WAY is one of:
  installed  installs the build in the folder BUILD elsewhere, moves it, and finds it with find_package and with pkg-config; also
             follows the page "A first model" word by word
  system     finds an installed package
  prefix     finds learn in the folder BUILD, unpacked from an archive
  folder     the project has the source tree in a subfolder, and builds what it uses in BUILD
Its program is apps/examples/own_model.cpp. Prints times, sizes and failures; exit status 1 after a failure.
"""
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/lab/docs"))
from follow import follow  # noqa: E402
MOST_BYTES = 5_000_000  # of the program
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {str(seen)[-3000:]}")
    return ok


def run(*words, env=None):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, env={**os.environ, **(env or {})})


class Project:
    """A copy of the project in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "tests/lab/package/project", folder)
        shutil.copy(ROOT / "apps/examples/own_model.cpp", folder)

    def configure(self, build, **settings):
        words = [f"-D{name}={value}" for name, value in settings.items()]
        return run("cmake", "-G", "Ninja", "-S", self.folder, "-B", build, *words)

    def builds(self, what, build, **settings):
        """Whether it is built, and its program does what it should."""
        begun = time.monotonic()
        configured = self.configure(build, **settings)
        if not check(f"{what}: it is configured", configured.returncode == 0, configured.stdout):
            return False
        built = run("cmake", "--build", build)
        if not check(f"{what}: it is built", built.returncode == 0, built.stdout):
            return False
        check(f"{what}: without a warning", not re.search(r"\bwarning\b", configured.stdout + built.stdout, re.IGNORECASE),
              configured.stdout + built.stdout)
        program_works(what, build / "spirals", time.monotonic() - begun)
        return True


def program_works(what, program, seconds, libraries=""):
    small = program.with_suffix(".stripped")
    run("strip", "-o", small, program)
    done = run(program, env={"LEARN_DEVICE": "cpu", "LD_LIBRARY_PATH": libraries})
    answers = re.findall(r"^[01]\.\d{3}$", done.stdout, re.MULTILINE)
    check(f"{what}: the program trains and predicts", done.returncode == 0 and len(answers) == 3 and max(map(float, answers)) > 0.8,
          done.stdout)
    check(f"{what}: it is below {MOST_BYTES / 1e6:.0f} MB", small.stat().st_size < MOST_BYTES, small.stat().st_size)
    print(f"{what}: built in {seconds:.0f} s, {program.stat().st_size / 1e6:.1f} MB, {small.stat().st_size / 1e6:.1f} MB stripped")


def by_pkg_config(place, prefix):
    pc = next(prefix.glob("lib/**/pkgconfig/learn.pc")).parent.resolve()
    begun = time.monotonic()
    flags = run("pkg-config", "--cflags", "--libs", "learn", env={"PKG_CONFIG_PATH": str(pc)})
    if not check("pkg-config: it finds learn", flags.returncode == 0, flags.stdout):
        return
    program = place / "spirals"
    source = ROOT / "apps/examples/own_model.cpp"
    built = run(os.environ.get("CXX", "c++"), "-std=c++20", "-O1", source, "-o", program, *shlex.split(flags.stdout))
    if check("pkg-config: it is built", built.returncode == 0 and not built.stdout, built.stdout):
        program_works("pkg-config", program, time.monotonic() - begun, str(pc.parent))  # pkg-config sets no run path


def first_model(folder, prefix):
    """The page of that name, as a new user follows it, with all of learn::learn."""
    begun = time.monotonic()
    environment = {"CMAKE_PREFIX_PATH": str(prefix), "LEARN_DEVICE": "cpu"}
    printed = follow(ROOT / "framework/docs/first-model.md", folder, environment, lambda fault: check("a first model", False, fault))
    answers = re.findall(r"^-?[01]\.\d\d$", printed, re.MULTILINE)
    right = len(answers) == 3 and all(abs(float(answer) - math.sin(3 * x)) < 0.1 for answer, x in zip(answers, (-0.5, 0, 0.5)))
    check("a first model: its answers are right", right, printed)
    print(f"a first model: {time.monotonic() - begun:.0f} s from an empty folder to the answers")


def system(place, _):
    prefix(place, Path("/usr"))


def prefix(place, folder):
    project = Project(place / "project")
    project.builds("find_package", place / "build", CMAKE_BUILD_TYPE="Release", CMAKE_PREFIX_PATH=folder.resolve(),
                   LEARN_LIBRARIES="learn::learn")
    by_pkg_config(place, folder)


def refuses(project, place, what, text, **settings):
    done = project.configure(place / "refused", **settings)
    check(f"{what} is refused", done.returncode != 0 and text in done.stdout, done.stdout)
    shutil.rmtree(place / "refused", ignore_errors=True)


def installed(place, build):
    built = run("cmake", "--build", build)
    check("it is built", built.returncode == 0, built.stdout)
    done = run("cmake", "--install", build, "--prefix", place / "made")
    if not check("it is installed", done.returncode == 0, done.stdout):
        return
    prefix = place / "moved here"  # what is installed does not know where it is
    (place / "made").rename(prefix)
    # Kernels name their source lines, which reports of faults tell.
    named = [name for name in naming(prefix, build) if not name.endswith("liblearn_cuda.so")]
    check("no file names the folder it was built in", not named, named)
    version = run(prefix / "bin/learn", "--version").stdout.strip()
    check("the program runs", re.fullmatch(r"(learn )?\d+\.\d+\.\d+", version), version)
    for file in ("man/man1/learn.1", "man/man1/learn-train.1", "bash-completion/completions/learn", "zsh/site-functions/_learn",
                 "fish/vendor_completions.d/learn.fish"):
        check(f"{file} is there", (prefix / "share" / file).is_file(), sorted((prefix / "share").rglob("*")))
    number = version.split()[-1]
    project = Project(place / "project")
    settings = {"CMAKE_PREFIX_PATH": prefix, "CMAKE_BUILD_TYPE": "Release"}
    project.builds("find_package, two components", place / "parts", LEARN_WANTED=number.rpartition(".")[0],
                   LEARN_COMPONENTS="learner;data", LEARN_LIBRARIES="learn::learner;learn::data", **settings)
    first_model(place / "first model", prefix)
    refuses(project, place, "another version", f"version: {number}", LEARN_WANTED="99.0", **settings)
    refuses(project, place, "an unknown component", "nonsense", LEARN_COMPONENTS="nonsense", **settings)
    by_pkg_config(place, prefix)


def naming(prefix, build):
    text = str(Path(build).resolve()).encode()
    return [str(file) for file in prefix.rglob("*") if file.is_file() and text in file.read_bytes()]


def nothing_set(what, configured):
    names = re.search(r"set for the parent: (.*)", configured)
    check(f"{what}: no variable is set for the parent", names and names[1].strip() == "", configured)


def folder(place, build):
    project = Project(place / "project")
    shutil.rmtree(build, ignore_errors=True)
    if not project.builds("add_subdirectory", build, LEARN_FOLDER=ROOT, LEARN_CUDA="OFF", CMAKE_CXX_FLAGS="-O1",
                          LEARN_LIBRARIES="learn::learner;learn::data"):
        return
    commands = json.loads((build / "compile_commands.json").read_text())
    own = next(command["command"] for command in commands if command["file"].endswith("project/own_model.cpp"))
    flags = [word for word in own.split()[1:] if word.startswith("-") and not word.startswith(("-I", "-isystem", "-o", "-c"))]
    allowed = {"-DLEARN_HAVE_CUDA=0", "-DFMT_SHARED", "-O1", "-std=gnu++20", "-pthread"}
    check("no flags of ours reach the parent's sources", set(flags) <= allowed, own)
    nothing_set("add_subdirectory", project.configure(build).stdout)
    if (ROOT / ".git").exists():
        nothing_set("FetchContent", project.configure(place / "fetched", LEARN_REPOSITORY=ROOT, LEARN_CUDA="OFF",
                                                      LEARN_LIBRARIES="learn::learner;learn::data").stdout)
    tests = run("ctest", "--test-dir", build, "-N").stdout
    check("the parent gets no tests", "Total Tests: 0" in tests, tests)
    targets = run("cmake", "--build", build, "--target", "help").stdout
    check("the parent gets no programs", "bench_step" not in targets and "apps/learn" not in targets, targets)


def main():
    way, build = {"installed": installed, "system": system, "prefix": prefix, "folder": folder}[sys.argv[1]], Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="learn package ") as place:
        way(Path(place).resolve(), build)
    print("FAILED" if failures else f"{sys.argv[1]}: all as promised")
    return 1 if failures else 0


sys.exit(main())
