#!/usr/bin/env python3
"""Rewrites the ledgers, which record properties of the sources and of their machine code, and prints the difference for review.

tests/run.sh --ledgers [NAME...]   all ledgers, or those named

A default test compares the tree with each ledger, so a change of a kernel, a step or an option shows up there. Read the
difference: a worse number is a regression, unless the commit gives a reason. Records written by hand are only checked: rules
for the machine code (code_rules) and the cases of options (options). Kernels that passed on a GPU are recorded by the GPU run
(tests/lab/gpu/ledger).
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path("build/release")
BIN, CUDA, FAKE = BUILD / "bin", BUILD / "lib/liblearn_cuda.so", BUILD / "tests/lab/cuda/fake/libfakecuda.so"
GPU = Path("tests/lab/gpu")


def run(*words, **environment):
    """Output of the program; ends this one if it fails."""
    ran = subprocess.run([str(word) for word in words], cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout}error: {' '.join(map(str, words))}: exit status {ran.returncode}")
    return ran.stdout


def python(program, *words):
    print(run(sys.executable, program, *words), end="")


def report(program, *words):
    """For records written by hand: prints the faults and continues."""
    subprocess.run([sys.executable, program, *map(str, words)], cwd=ROOT, check=False)


def kernel_table():
    with tempfile.TemporaryDirectory() as folder:
        traffic = Path(folder, "traffic")
        run(ROOT / BIN / "learn", "train", "--device", "cuda", "--data", "synthetic10", "--classes", "disk,ring", "--model", "darknet",
            "--precision", "fp16", "--train-limit", 8, "--valid-limit", 2, "--batch-size", 8, "--epochs", 1, "--seed", 1, "--workers", 0,
            "--out", folder, "--name", "kernels", LD_PRELOAD=str(ROOT / FAKE), FAKE_CUDA_TRAFFIC=str(traffic))
        (ROOT / "tests/lab/cuda/kernels.md").write_text(run(sys.executable, GPU / "kernel_table.py", CUDA, traffic))


def plans():
    (ROOT / "tests/lab/cuda/plans.md").write_text(run(BIN / "tests_cuda_plans"))


# Name: file or folder, the targets of the build, whether CUDA is needed, how it is written.
LEDGERS = {
    "mutants": ("tests/lab/mutants", [], False, lambda: python("tests/lab/mutants/run.py", "--follow")),
    "vector_loops": ("tests/lab/tools/vector_loops", ["learn_cpu"], False,
                     lambda: python("tests/lab/tools/vectorized.py", "write", BUILD / "framework/kernels/liblearn_cpu.a", "objdump")),
    "options": ("tests/apps", ["learn"], False, lambda: report("tests/apps/options_walk.py", BIN / "learn", "--entries")),
    "budgets": (GPU / "budgets", ["learn_cuda"], True, lambda: python(GPU / "kernel_budget.py", "write", CUDA)),
    "code_rules": (GPU / "code_rules", ["learn_cuda"], True, lambda: report(GPU / "kernel_code.py", "check", CUDA)),
    "plans": ("tests/lab/cuda/plans.md", ["tests_cuda_plans"], True, plans),
    "kernels": ("tests/lab/cuda/kernels.md", ["learn", "learn_cuda", "fakecuda"], True, kernel_table),
    "library_cases": (GPU / "library_cases", ["tests_cuda", "tests_cuda_ops", "learn_cuda", "fakecuda"], True,
                      lambda: python(GPU / "library_cases.py", "write", BUILD)),
    "steps": (GPU / "steps.md", ["bench_step", "learn_cuda", "fakecuda"], True, lambda: python(GPU / "step_costs.py", "write", BUILD)),
}


def main():
    parser = argparse.ArgumentParser(prog="tests/run.sh --ledgers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(LEDGERS))
    names = parser.parse_args().names or list(LEDGERS)
    for name in names:
        if name not in LEDGERS:
            parser.error(f"there is no ledger '{name}'; there are {', '.join(LEDGERS)}")
    targets = sorted({target for name in names for target in LEDGERS[name][1]})
    if targets:
        print("== build", flush=True)
        run("cmake", "--preset", "release")
        with_cuda = "LEARN_CUDA_CHECKED" in (ROOT / BUILD / "CMakeCache.txt").read_text()
        if not with_cuda and (left_out := [name for name in names if LEDGERS[name][2]]):
            print(f"left out, as there is no CUDA toolkit: {', '.join(left_out)}")
            names = [name for name in names if name not in left_out]
            targets = sorted({target for name in names for target in LEDGERS[name][1]})
        if targets:
            run("framework/cmake/build.sh", "release", *targets)
    for name in names:
        print(f"== {name}", flush=True)
        LEDGERS[name][3]()
    files = [str(LEDGERS[name][0]) for name in names]
    print("== difference", flush=True)
    subprocess.run(["git", "--no-pager", "diff", "--stat", "--patch", "--", *files], cwd=ROOT, check=False)
    return 0


sys.exit(main())
