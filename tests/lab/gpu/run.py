#!/usr/bin/env python3
"""Everything that needs a GPU, unattended: builds, tests, sanitizers, the ledger of kernels, and a summary that can
be committed under tests/lab/gpu/results.

tests/run.sh --gpu [OPTION...]
  --stages A,B,...  these only; --list names them
  --no-build        take what was built as it is
  --build-dir DIR   where that is; build/release unless given, and never built if it is
  --pack FILE       take what tests/lab/gpu/pack.py put into FILE: no compiler, package or network is needed
  --budget SECONDS  start nothing after so long, stop what runs then, and still write the summary
  --fake            on the fake CUDA runtime: tries this program out and proves nothing about a GPU. Writes no
                    summary and no ledger; the sanitizers are left out

A stage that fails stops no other, but without programs or libraries nothing runs, and what is missing is named. Stages of several
ranks are skipped, with the reason, without NCCL or a second device.
Exit status 0: all passed, or were skipped; 1: something did not, a missing tool included; 8: there is no GPU (nothing was built or
run).
Logs are in build/gpu.
"""
import argparse
import datetime
import json
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import device
import jobs
import libraries
import library_cases
import rank_stages
import step_costs
import summary
from jobs import Job, Outcome

ROOT = pathlib.Path(__file__).resolve().parents[3]
LEDGER = ROOT / "tests/lab/gpu/kernel_ledger.py"
RESULTS = ROOT / "tests/lab/gpu/results"

OP_TESTS = ["tests_cuda_ops", "tests_cuda_conv", "tests_cuda_libraries"]
PROGRAMS = ["tests_cuda", *OP_TESTS, "tests_cuda_models", "tests_cuda_training", "tests_cuda_graph"]
PLANTED_FAULTS = "planted_faults"
OTHER_PROGRAMS = [rank_stages.TESTS, "learn", "bench_step", "bench_cifar", "bench_precisions", PLANTED_FAULTS]
OTHER_TARGETS = [*OTHER_PROGRAMS, "kernellog", "fakecuda"]
KERNELS = "lib/liblearn_cuda.so"
KERNEL_LOG = "tests/lab/cuda/libkernellog.so"
FAKE_RUNTIME = "tests/lab/cuda/fake/libfakecuda.so"
BUILT = [*(f"bin/{program}" for program in PROGRAMS + OTHER_PROGRAMS), KERNELS, KERNEL_LOG]
# The sanitizers slow a program down many times, so the long ones run in parts.
SANITIZED = {"tests_cuda": 1, "tests_cuda_ops": 8, "tests_cuda_conv": 3, "tests_cuda_libraries": 1}
OWN_KERNELS_ONLY = library_cases.PROGRAMS
# API errors are checked by the program itself, and the libraries ask for functions that a driver may not have.
# Their kernels are excluded: ours have mangled names that start with _ZN5learn.
FOUND = 99
SANITIZER_WORDS = [f"--error-exitcode={FOUND}", "--report-api-errors=no", "--target-processes=all", "--kernel-name",
                   "kns=5learn"]
# initcheck must at least record what the libraries' kernels wrote.
TRACKS_LIBRARIES = "--initcheck-track-filtered-global-memory"
TOOLKIT = "/usr/local/cuda/bin"  # often not on the PATH
# Stages that must pass so that the kernels count as tested, and as tested under the sanitizers.
TESTED = ["smoke", "parity", "determinism"]
# The fault of planted_faults that each must find.
FAULTS = {"memcheck": "out_of_bounds", "racecheck": "race", "initcheck": "uninitialized", "synccheck": "barrier"}
SANITIZERS = list(FAULTS)


class NotReady(Exception):
    """Why nothing can run."""


class Run:
    """One run of all stages: on `gpu`, or on the fake one."""

    FAKE_RUNTIME = FAKE_RUNTIME

    def __init__(self, options, gpu):
        self.options, self.gpu, self.fake = options, gpu, options.fake
        self.began = time.monotonic()
        self.deadline = self.began + options.budget if options.budget else None
        self.logs = ROOT / ("build/gpu-fake" if self.fake else "build/gpu")
        self.place = self.logs / "pack" if options.pack else pathlib.Path(options.build_dir or ROOT / "build/release")
        self.ran = self.logs / "kernels"
        self.stages, self.jobs, self.ledger_line, self.about_machine = [], [], "", []
        self.about_build = {"commit": commit(), "toolkit": toolkit()}
        self.library_path = self.nccl_problem = ""

    def unpack(self):
        """Raises NotReady for a file that is not a complete pack."""
        try:
            with tarfile.open(self.options.pack) as archive:
                # Nothing outside of the folder; Pythons older than that trust the archive.
                archive.extractall(self.place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            self.about_build = json.loads((self.place / "pack.json").read_text())
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, json.JSONDecodeError) as error:
            raise NotReady(f"{self.options.pack} is not what tests/lab/gpu/pack.py makes, or not all of it: {error}") from None

    def look_for_what_it_needs(self):
        """Programs of the build, and the libraries that they load by name. Raises NotReady."""
        check_built(self.place, BUILT + [FAKE_RUNTIME] * self.fake)
        wanted = ["libcudnn.so.9", f"libcublasLt.so.{cuda_major(self.place / KERNELS)}"]
        own = [self.place / "lib"] if self.options.pack else []
        try:
            self.library_path = libraries.path_for(wanted, own)
        except libraries.Missing as missing:
            raise NotReady(str(missing)) from None
        if not self.fake:
            self.nccl_problem = rank_stages.nccl_problem(wanted, own)
        if not self.nccl_problem and not self.fake:
            self.library_path = libraries.path_for([*wanted, rank_stages.NCCL], own)

    def variables(self):
        """Part of the environment of every program."""
        own = {"FAKE_CUDA_DEVICE": str(self.place / "tests/lab/cuda/devices/h200.json")} if self.options.pack else {}
        return {"LD_LIBRARY_PATH": self.library_path, **own}

    def test(self, program, *filters, name=None, timeout=180, before=(), environment=None, log=True, when_late="failed"):
        """A test program on the device: it fails if it finds another one."""
        preload = [str(self.place / KERNEL_LOG)] * log + \
            [str(self.place / FAKE_RUNTIME)] * self.fake
        variables = {"LEARN_REQUIRE_GPU": "1", "LEARN_EXPECT_DEVICE": self.gpu.name, "LD_PRELOAD": " ".join(preload),
                     "LEARN_KERNEL_LOG": str(self.ran), **self.variables(), **(environment or {})}
        return Job(name or program, [*before, str(self.place / "bin" / program), *filters], timeout, variables, True,
                   when_late)

    def all_of(self, stage, work, at_once):
        """Runs jobs as one stage: as good as the worst of them."""
        outcomes = jobs.run_all(work, self.logs, at_once, self.deadline)
        self.jobs += outcomes
        for outcome in outcomes:
            if not outcome.good:
                print(f"-- {outcome.name}: {outcome.note}\n" + "\n".join(outcome.output.splitlines()[-25:]), flush=True)
        worst = next((o.status for o in outcomes if o.status == "failed"),
                     next((o.status for o in outcomes if not o.good), "passed"))
        note = ", ".join(o.note for o in outcomes if o.note) if len(outcomes) < 4 else \
            f"{sum(o.good for o in outcomes)} of {len(outcomes)} runs passed"
        return Outcome(stage, worst, 0, note)

    def stage(self, name):
        began = time.monotonic()
        outcome = getattr(self, name)()
        outcome.seconds = time.monotonic() - began
        self.stages.append(outcome)
        print(f"== {name:12} {outcome.status:8} {outcome.seconds:6.1f} s  {outcome.note}", flush=True)
        return outcome

    def build(self):
        if self.options.no_build or self.options.build_dir or self.options.pack:
            return Outcome("build", "passed", 0, "taken as it was")
        scripts = ROOT / "framework/cmake"
        return self.all_of("build", [
            Job("packages", [str(scripts / "install_packages.sh")], 300),
            Job("build", [str(scripts / "build.sh"), "release", *PROGRAMS, *OTHER_TARGETS], 900)], 1)

    def machine(self):
        """The program's own report on the machine."""
        preload = {"LD_PRELOAD": str(self.place / FAKE_RUNTIME)} if self.fake else {}
        said = jobs.run(Job("doctor", [str(self.place / "bin/learn"), "doctor"], 60, {**self.variables(), **preload}),
                        self.logs)
        self.about_machine = said.output.splitlines()
        return Outcome("machine", said.status, 0, "" if self.fake else device.settings())

    def smoke(self):
        return self.all_of("smoke", [self.test("tests_cuda", timeout=60)], 1)

    def parity(self):
        return self.all_of("parity", [self.test(program) for program in OP_TESTS], 3)

    def determinism(self):
        return self.all_of("determinism", [self.test("tests_cuda_models", "--test-case=*has the same bits*",
                                                     name="determinism")], 1)

    def training(self):
        return self.all_of("training", [
            self.test("tests_cuda_training"),
            self.test("tests_cuda_models", "--test-case=20 steps*", name="tests_cuda_models, 20 steps")], 1)

    def graph(self):
        return self.all_of("graph", [self.test("tests_cuda_graph")], 1)

    def resume(self):
        return self.all_of("resume", [self.test("tests_cuda_models", "--source-file=*resume_test*", name="resume")], 1)

    def memory(self):
        return self.all_of("memory", [self.test("tests_cuda_models", "--source-file=*memory_test*", name="memory")], 1)

    def one_rank(self):
        return rank_stages.one_rank(self)

    def two_ranks(self):
        return rank_stages.two_ranks(self)

    def bench(self):
        """Times of steps, eager and as a graph, for the table with the predictions."""
        return self.all_of("bench", [
            Job(f"bench_step {net.model} {net.batch} {net.precision}{' graph' * graph}",
                [str(self.place / "bin/bench_step"), "--model", net.model, "--batch", str(net.batch), "--device", "cuda",
                 "--precision", net.precision, *["--graph"] * graph], 120, self.variables())
            for net in step_costs.NETS for graph in (False, True)], 1)

    def sanitize(self, tool, programs, words=(), left_out=None):
        """`left_out`: program -> names of cases."""
        sanitizer = of_toolkit("compute-sanitizer")
        if sanitizer is None:
            return Outcome(tool, "missing", 0, "there is no compute-sanitizer; it is part of the CUDA toolkit")
        # Small sizes suffice: every kernel and every edge is in them. A tool that is too slow says nothing of ours.
        environment = {"LEARN_TEST_INTERPRETED": "1"}
        before = [sanitizer, *SANITIZER_WORDS, f"--tool={tool}", *words]
        try:
            parts = [(program, *part) for program in programs
                     for part in self.parts(program, (left_out or {}).get(program, []))]
        except library_cases.NoCases as reason:
            return Outcome(tool, "failed", 0, str(reason))
        return self.all_of(tool, [*self.planted_faults(tool, before), *(
            self.test(program, *part, name=f"{tool} {program}{suffix}", timeout=300, environment=environment, log=False,
                      when_late="missing", before=before)
            for program, part, suffix in parts)], 12)

    def planted_faults(self, tool, before):
        """A tool that finds nothing, as its filter leaves everything out, must not pass."""
        program = str(self.place / "bin" / PLANTED_FAULTS)
        return [Job(f"{tool} finds the fault '{fault}'", [*before, program, fault], 60, self.variables(), exit_status=status)
                for fault, status in ((FAULTS[tool], FOUND), ("none", 0))]

    def parts(self, program, left_out):
        """doctest's words for each part of a program's cases, and what to add to its name."""
        count, words = SANITIZED[program], library_cases.without(left_out)
        if count == 1:
            return [(words, "")]
        cases = len(library_cases.cases(self.place / "bin" / program, *words, environment=self.variables()))
        edges = [round(i * cases / count) for i in range(count + 1)]
        return [([*words, f"--first={a + 1}", f"--last={b}"], f" {i + 1}/{count}")
                for i, (a, b) in enumerate(zip(edges, edges[1:])) if b > a]

    def memcheck(self):
        return self.sanitize("memcheck", SANITIZED)

    def racecheck(self):
        # The libraries' kernels use their own synchronization: under racecheck one of cuBLASLt's ends in "an illegal
        # memory access" and an internal error of the sanitizer, though it is filtered out.
        return self.without_libraries("racecheck")

    def initcheck(self):
        """A sanitizer that passes over the libraries' kernels may take what they wrote for never written: then the cases
        that read it are left out."""
        if TRACKS_LIBRARIES in help_of(of_toolkit("compute-sanitizer")):
            return self.sanitize("initcheck", OWN_KERNELS_ONLY, [f"{TRACKS_LIBRARIES}=yes"])
        return self.without_libraries("initcheck")

    def without_libraries(self, tool):
        left_out = library_cases.recorded()
        outcome = self.sanitize(tool, OWN_KERNELS_ONLY, left_out=left_out)
        if outcome.good:
            outcome.note += f"; without {sum(map(len, left_out.values()))} cases that read what a library wrote"
        return outcome

    def synccheck(self):
        return self.sanitize("synccheck", SANITIZED)

    def ledger(self):
        """Notes the kernels that ran, if the stages that compare their numbers have passed."""
        return self.note_kernels("ledger", "numbers", TESTED)

    def sanitized(self):
        """Notes them again, now with the sanitizers, if those have passed too."""
        return self.note_kernels("sanitized", "sanitizers", TESTED + SANITIZERS)

    def note_kernels(self, stage, grade, needed):
        if not self.ran.exists():
            return Outcome(stage, "failed", 0, "no program has noted the kernels it launched")
        passed = {s.name for s in self.stages if s.good}
        bad = [name for name in needed if name not in passed]
        words = ["check"] if self.fake or bad else \
            ["record", "--gpu", self.gpu.name, "--date", today(), "--grade", grade]
        kernels = self.place / KERNELS
        outcome = jobs.run(Job(stage, [sys.executable, str(LEDGER), words[0], str(kernels), *words[1:],
                                          "--ran", str(self.ran)], 60), self.logs)
        print(outcome.output, end="")
        self.ledger_line = outcome.output.strip().splitlines()[-1] if outcome.output.strip() else ""
        if not outcome.good or self.fake or not bad:
            return Outcome(stage, outcome.status, 0, self.ledger_line)
        return Outcome(stage, "not run", 0, f"nothing recorded, because of {', '.join(bad)}")


# In the order of what they are worth, should the time be short: numbers and their record, speed, sanitizers.
STAGES = ["build", "machine", "smoke", "parity", "determinism", "training", "graph", "resume", "memory", "one_rank", "ledger", "bench",
          "two_ranks", *SANITIZERS, "sanitized"]
NEEDS_GPU = ["build", "bench", *SANITIZERS, "sanitized"]


def check_built(place, names):
    """Raises NotReady unless the build in the folder has these files."""
    absent = [name for name in names if not (place / name).exists()]
    if absent:
        raise NotReady(f"{place} has no {', '.join(absent)}; build them: framework/cmake/build.sh release "
                       f"{' '.join(PROGRAMS + OTHER_TARGETS)}")


def cuda_major(kernels):
    """The CUDA that the kernel library is for, by the runtime it is linked with. Raises NotReady."""
    found = re.search(rb"libcudart\.so\.(\d+)", kernels.read_bytes())
    if not found:
        raise NotReady(f"{kernels} is not linked with the CUDA runtime")
    return found[1].decode()


def built_by(about):
    """"CUDA 13.0, /usr/bin/g++-12, packed on 2030-01-02": as much of it as is known."""
    packed = f"packed on {about['date']}" if about.get("date") else ""
    return ", ".join(filter(None, [about["toolkit"], about.get("compiler"), packed]))


def today():
    return datetime.date.today().isoformat()


def commit():
    if not shutil.which("git"):
        return "unknown"
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode != 0:
        return "unknown"
    changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    return head.stdout.strip() + (" with local changes" if changed.stdout.strip() else "")


def of_toolkit(program):
    return shutil.which(program) or shutil.which(program, path=TOOLKIT)


def help_of(program):
    """Help text of a program; empty if it does not exist."""
    return subprocess.run([program, "--help"], capture_output=True, text=True).stdout if program else ""


def toolkit():
    nvcc = of_toolkit("nvcc")
    found = subprocess.run([nvcc, "--version"], capture_output=True, text=True) if nvcc else None
    lines = found.stdout.splitlines() if found else []
    return next((line.split(", ")[1].replace("release", "CUDA") for line in lines if "release" in line), "")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--stages")
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--build-dir")
    parser.add_argument("--pack")
    parser.add_argument("--budget", type=float, default=0)
    parser.add_argument("--fake", action="store_true")
    options = parser.parse_args()
    options.stages = options.stages.split(",") if options.stages else STAGES
    unknown = [name for name in options.stages if name not in STAGES]
    if unknown:
        parser.error(f"unknown stage '{unknown[0]}'; known: {', '.join(STAGES)}")
    return options


def conclude(run):
    facts = summary.Facts(run.gpu.name, run.gpu.driver, today(), run.about_build["commit"],
                          "tests/run.sh --gpu " + " ".join(sys.argv[1:]), time.monotonic() - run.began,
                          built_by(run.about_build))
    text = summary.markdown(facts, run.stages, run.jobs, run.ledger_line, run.about_machine)
    if run.fake:
        print("On FAKE (no GPU): nothing is recorded.")
        return
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / summary.file_name(facts)
    path.write_text(text)
    print(f"{text}\nwritten to {path.relative_to(ROOT)}; commit it with tests/lab/gpu/ledger")


def main():
    options = read_options()
    if options.list:
        print("\n".join(STAGES))
        return 0
    try:
        gpu = device.fake() if options.fake else device.find()
    except device.NoGpu as reason:
        print(f"error: no GPU: {reason}", file=sys.stderr)
        return 8
    run = Run(options, gpu)
    shutil.rmtree(run.logs, ignore_errors=True)
    run.logs.mkdir(parents=True)
    print(f"{gpu.name}, driver {gpu.driver}", flush=True)
    try:
        if options.pack:
            run.unpack()
        if "build" in options.stages and not run.stage("build").good:
            raise NotReady(f"the build failed; {run.logs / 'build.log'}")
        run.look_for_what_it_needs()
    except NotReady as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    for name in options.stages:
        if name != "build" and not (options.fake and name in NEEDS_GPU):
            run.stage(name)
    conclude(run)
    return 1 if any(stage.bad for stage in run.stages) else 0


if __name__ == "__main__":
    sys.exit(main())
