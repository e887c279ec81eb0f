#!/usr/bin/env python3
"""Runs the README's two commands on fresh systems, and builds with every compiler: the source of the table of systems.

run.py [--quick] [--keep] [--list] [NAME...]

NAME is one of:
  debian13             a fresh system: the two commands as a user with sudo, then again as one without it and without a network,
                       and the packages of cpack with projects that use them
  debian13:root        the two commands as root
  debian13:clang-19    a compiler on a system; also debian13:clang-19:cuda and debian13:g++-14:no-pch, the latter without
                       precompiled headers
  debian12:packages    the packages of this machine's build/release on a system without anything else
  debian13:mpi         the tests of several processes with that system's Open MPI, and two_hosts.py there; debian13:mpich the tests
                       with MPICH
  hosts                two network namespaces of this machine as hosts of one training, with its build/release: see two_hosts.py
  debian13:pack        the result of tests/lab/gpu/pack.py for this machine's build/release, on the fake CUDA runtime, with only a
                       CUDA toolkit installed
Without NAME, all of them, which takes hours. --quick runs the part that fits into CI: a few test programs. Logs and the table are
in build/systems; --keep also keeps the systems there, to inspect them with chroot. Needs root, Debian and the network.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from debian import Debian, SystemsError

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLACE = ROOT / "build/systems"
RELEASES = {"debian12": "bookworm", "debian13": "trixie"}
COMPILERS = {"debian12": ["g++-12", "clang-14", "clang-15", "clang-16"],
             "debian13": ["g++-13", "g++-14", "clang-17", "clang-18", "clang-19"]}
VARIANTS = {"g++": ["", ":cuda", ":no-pch"], "clang": ["", ":cuda"]}  # headers are precompiled for g++ alone
MPI = {"mpi": "openmpi-bin libopenmpi-dev", "mpich": "mpich libmpich-dev"}  # packages
MPI_TESTS = "^tests_mpi: |^tests_apps: (ranks|resume auto)$|^bench: bench_step, 2 ranks|^docs: several processes$"
MOST_BYTES = 13_500_000  # of `learn` without CUDA; tests/apps says so too
FEW_TESTS = "tests_core tests_tensor tests_kernels tests_runtime tests_conv tests_learner"
WARNING = re.compile(r"\bwarning\b[ :#]", re.IGNORECASE)


def all_names():
    for system, compilers in COMPILERS.items():
        yield from (system, f"{system}:root")
        for compiler in compilers:
            yield from (f"{system}:{compiler}{variant}" for variant in VARIANTS[compiler.split("-")[0]])
        yield from (f"{system}:{library}" for library in MPI)
    yield "debian12:packages"
    yield "debian13:pack"
    yield "hosts"


class Row:
    """A line of the table: what was done, with its seconds, and what was seen."""

    def __init__(self, name, debian):
        self.name, self.debian, self.cells, self.good = name, debian, [], True

    @contextlib.contextmanager
    def step(self, what):
        """Times what is done within; its output is in `self.text` then."""
        print(f"   {self.name}: {what} ...", end="", flush=True)
        before, start = time.monotonic(), len(self.debian.text())
        try:
            yield
            outcome = f"{time.monotonic() - before:.0f} s"
        except subprocess.CalledProcessError:
            outcome, self.good = "FAILED", False
        self.text = self.debian.text()[start:]
        self.cells.append(f"{what}: {outcome}")
        print(f" {outcome}", flush=True)
        if outcome == "FAILED":
            print("\n".join(self.text.splitlines()[-40:]), flush=True)

    def see(self, what, as_it_must_be):
        self.cells.append(what)
        if not as_it_must_be:
            self.good = False
            print(f"   {self.name}: not as it must be: {what}", flush=True)

    def see_tests(self):
        summary = re.findall(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", self.text)
        passed = [f"{int(all_of_them) - int(failed)} of {all_of_them} passed" for _, failed, all_of_them in summary]
        self.see(", ".join(passed) or "no test ran", passed)

    def see_packages(self, folder):
        files = sorted(folder.glob("learn[-_]*.deb")) + sorted(folder.glob("learn-*.tar.gz"))
        self.see(", ".join(f"{file.name.split('_')[0]} {file.stat().st_size / 1e6:.1f} MB" for file in files), len(files) > 2)

    def see_warnings(self, build_log):
        lines = [line for line in build_log.splitlines() if WARNING.search(line)]
        self.see(f"{len(lines)} warnings", not lines)
        for line in lines[:20]:
            print(f"   {line}", flush=True)


def build_log(tree):
    return (tree / "build/release.log").read_text(errors="replace")


def two_commands(name, debian, quick):
    user = "root" if name.endswith(":root") else "user"
    row, tests = Row(name, debian), f"tests/run.sh {FEW_TESTS if quick else '--all'}"
    tree = debian.clone(ROOT, "my learn", user)  # with a space: people have them
    with row.step("quickstart"):
        debian.run("'my learn/apps/quickstart.sh'", user)
    if row.good:
        accuracy = max(map(float, re.findall(r"^best .* accuracy ([01]\.\d{4})\b", row.text, re.MULTILINE)), default=0)
        row.see(f"accuracy {accuracy:.1%}", accuracy > 0.95)
        size = (tree / "build/release/bin/learn").stat().st_size
        row.see(f"learn of {size / 1e6:.1f} MB", size < MOST_BYTES)
        row.see_warnings(build_log(tree))
        debian.run("apt-get install -y -qq --no-install-recommends qemu-user")
        with row.step("on an x86-64 without AVX"):
            debian.run("qemu-x86_64 -cpu qemu64 'my learn/build/release/bin/learn' train --data synthetic10 --train-limit 64 "
                       "--valid-limit 32 --model small --width 4 --batch-size 8 --epochs 1", user)
        with row.step(tests):
            debian.run(f"'my learn'/{tests}", user)
    if row.good:
        row.see_tests()
        row.see_warnings(build_log(tree))
    if row.good and user != "root":
        packages(row, debian, tree)
    if row.good and user != "root":
        debian.give(tree, "guest")
        with row.step("both again, without sudo and network"):
            debian.run("cd ~user/'my learn' && apps/quickstart.sh --epochs 1 --train-limit 1000" +
                       ("" if quick else " && tests/run.sh"), "guest", network=False)
    return row


def packages(row, debian, tree):
    """Packages made by cpack from the quickstart's build, installed, with a project that uses them; the same with one shared
    library; and a project with the tree in a subfolder."""
    build = "~user/'my learn'/build/release"
    use = "~user/'my learn'/tests/lab/package/package.py"
    debian.run("apt-get install -y -qq --no-install-recommends file dpkg-dev")  # which cpack asks
    with row.step("packages"):
        debian.run(f"cd {build} && cmake -DLEARN_TESTS=OFF . && cmake --build . && cpack -G DEB && cpack -G TGZ && "
                   "cmake -DLEARN_TESTS=ON .", "user")
        debian.run(f"apt-get install -y -qq {build}/learn_*.deb {build}/learn-dev_*.deb && learn --version")
    if row.good:
        row.see_packages(tree / "build/release")
        with row.step("a project that finds them"):
            debian.run(f"{use} system none", "guest", network=False)
    if row.good:
        with row.step("one that finds the shared library"):
            debian.run(f"cd {build} && cmake -DLEARN_SHARED=ON -DLEARN_TESTS=OFF . && cmake --build . && "
                       "cmake --install . --prefix ~user/shared && cmake -DLEARN_SHARED=OFF -DLEARN_TESTS=ON .", "user")
            debian.run(f"test -e ~user/shared/lib/liblearn.so && {use} prefix ~user/shared", "user", network=False)
    if row.good:
        with row.step("one that has the tree in a folder"):
            debian.run(f"{use} folder folder", "user")


def installed(name, debian, _):
    """The packages of this machine's build/release on a system that has nothing else."""
    row, build = Row(name, debian), ROOT / "build/release"
    with row.step("packed"):
        for kind in ("DEB", "TGZ"):
            debian.call(["cpack", "-G", kind, "--config", str(build / "CPackConfig.cmake"), "-B", str(PLACE / "packages")])
    if row.good:
        row.see_packages(PLACE / "packages")
        tree = debian.clone(ROOT, "tree", "guest")
        for file in (PLACE / "packages").glob("learn[-_]*.*"):
            shutil.copy(file, debian.folder / "tmp")
        with row.step("learn alone"):
            debian.run("apt-get install -y -qq --no-install-recommends /tmp/learn_*.deb")
            debian.run("learn train --data synthetic10 --train-limit 64 --valid-limit 32 --model small --width 4 "
                       "--batch-size 8 --epochs 1", "guest", network=False)
        with row.step("learn-dev"):
            debian.run("apt-get install -y -qq --no-install-recommends /tmp/learn-dev_*.deb g++ cmake ninja-build python3")
        with row.step("projects that find it"):
            debian.run("tree/tests/lab/package/package.py system none", "guest", network=False)
        with row.step("the archive"):
            debian.run("apt-get remove -y -qq learn learn-dev && tar -xf /tmp/learn-*.tar.gz -C ~guest && "
                       "chown -R guest: ~guest")
            debian.run("cd learn-* && bin/learn --version && ~/tree/tests/lab/package/package.py prefix .", "guest", network=False)
    shutil.rmtree(PLACE / "packages", ignore_errors=True)
    return row


def packed(name, debian, _):
    row, file = Row(name, debian), PLACE / "pack.tar.xz"
    with row.step("packed"):  # says what to build if it is not there
        debian.call([sys.executable, str(ROOT / "tests/lab/gpu/pack.py"), str(file)])
    if row.good:
        row.see(f"{file.stat().st_size / 1e6:.1f} MB", True)
        debian.run("apt-get install -y -qq --no-install-recommends python3")
        tree = debian.clone(ROOT, "tree", "guest")
        file.rename(tree / file.name)
        run = f"cd tree && tests/run.sh --gpu --fake --pack {file.name}"
        with row.step("without cuDNN"):
            debian.run(f"! ({run})", "guest", network=False)
        row.see("named", "error: libcudnn.so.9, libcublasLt.so" in row.text)
        with row.step("with it"):
            debian.run(run, "guest", network=False, mounts=cuda_folders())
        kernels = re.search(r"(\d+) of (\d+) kernels ran", row.text)
        row.see(kernels[0] if kernels else "no kernel ran", kernels and kernels[1] == kernels[2])
    return row


def cuda_folders():
    """The toolkit of this machine, for systems without one: its name and its path."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        raise SystemsError("there is no CUDA toolkit here: neither nvcc on the PATH nor /usr/local/cuda")
    folder = pathlib.Path(nvcc).parents[1]
    return sorted({str(folder), str(folder.resolve())})


def by_compiler(name, debian, quick):
    row = Row(name, debian)
    _, compiler, *variant = name.split(":")
    folder = re.sub(r"\W", "-", name)
    tree = debian.clone(ROOT, folder, "user")
    words = "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON" if "no-pch" in variant else ""
    with row.step("built and tested"):
        debian.run(f"apt-get install -y -qq --no-install-recommends {compiler}")
        debian.run(f"CXX={compiler.replace('clang', 'clang++')} LEARN_CMAKE_ARGS='{words}' "
                   + (f"sh -c '{folder}/framework/cmake/install_packages.sh && {folder}/framework/cmake/build.sh release learn && "
                      f"{folder}/tests/run.sh {FEW_TESTS}'" if quick else f"{folder}/tests/run.sh --quick"),
                   "user", mounts=cuda_folders() if "cuda" in variant else ())
    if row.good:
        row.see_tests()
        log = build_log(tree)
        row.see_warnings(log)
        row.see("with CUDA" if "cuda" in variant else "without CUDA", ("CUDA backend: 1" in log) == ("cuda" in variant))
    shutil.rmtree(tree)
    return row


def by_mpi(name, debian, _):
    row, library = Row(name, debian), name.split(":")[1]
    debian.clone(ROOT, "tree", "user")
    with row.step("built"):
        debian.run(f"apt-get install -y -qq --no-install-recommends {MPI[library]} iproute2 python3")
        debian.run("tree/framework/cmake/install_packages.sh && LEARN_CMAKE_ARGS='-DLEARN_CUDA=OFF -DLEARN_MPI=ON' "
                   "tree/framework/cmake/build.sh release learn tests_mpi bench_step train_parallel", "user")
    if row.good:
        debian.run("tree/build/release/bin/learn doctor --seconds 0", "user")
        found = re.findall(r"^mpi +(.*?),", debian.text(), re.MULTILINE)
        row.see(found[-1] if found else "no MPI", found)
        with row.step("tests"):
            debian.run(f"ctest --test-dir tree/build/release --verbose --no-tests=error -R '{MPI_TESTS}'", "user", network=False)
        row.see_tests()
        failures = re.findall(r"^\d+: \| (?!failure |--- )", row.text, re.MULTILINE)
        row.see(f"{len(failures)} failures of ranks" if failures else "failures of ranks skipped", failures or library != "mpi")
    if row.good and library == "mpi":
        with row.step("two hosts"):
            debian.run("~user/tree/tests/lab/systems/two_hosts.py", network=False)
    return row


def main():
    about, details = __doc__.split("\n\n", 1)
    words = argparse.ArgumentParser(description=about, epilog=details, usage=details.split("\n")[0],
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quick", action="store_true")
    words.add_argument("--keep", action="store_true")
    words.add_argument("--list", action="store_true", help="the names")
    words.add_argument("names", nargs="*")
    options = words.parse_args()
    known = list(all_names())
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        words.error(f"unknown: {', '.join(unknown)}; --list has the names")
    wanted = options.names or known
    rows, debian = [], None
    PLACE.mkdir(parents=True, exist_ok=True)
    hosts_good = True
    for name in (name for name in known if name in wanted):
        if name == "hosts":
            hosts_good = subprocess.run([sys.executable, str(ROOT / "tests/lab/systems/two_hosts.py")], check=False).returncode == 0
            continue
        system, *what = name.split(":")
        works = {"pack": packed, "packages": installed, "root": two_commands, **dict.fromkeys(MPI, by_mpi)}
        work = works.get(what[0], by_compiler) if what else two_commands
        fresh = work is not by_compiler  # compilers take the system that is there
        if fresh or not debian or debian.release != RELEASES[system]:
            if debian and not options.keep:
                debian.remove()
            debian = Debian(RELEASES[system], PLACE / (name.replace(":", "-") if fresh else system))
        rows.append(work(name, debian, options.quick))
    if debian and not options.keep:
        debian.remove()
    table = "".join(f"| {row.name} | {'; '.join(row.cells)} |\n" for row in rows)
    (PLACE / "table.md").write_text(table)
    print(table, end="")
    return 0 if hosts_good and all(row.good for row in rows) else 1


try:
    sys.exit(main())
except SystemsError as error:
    sys.exit(f"error: {error}")
