#!/usr/bin/env python3
"""Which test cases read what cuDNN or cuBLASLt wrote: tests/lab/gpu/library_cases.

library_cases.py check BUILD_DIR   fails if the file lacks one, or has one that does not
library_cases.py write BUILD_DIR   writes the file

compute-sanitizer looks at our own kernels only. An older one then takes what a library's kernel wrote for memory that was
never written, and initcheck would report each read of it, so those cases are left out there. They are found under the fake
CUDA runtime, for which the writes of libraries do not count either (FAKE_CUDA_LIBRARIES=unwritten).
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("library_cases")
PROGRAMS = ["tests_cuda", "tests_cuda_ops"]  # whose kernels are our own; what initcheck looks at
TIMEOUT = 600


def recorded():
    """program -> names of cases."""
    rows = [line.split(" ", 1) for line in LIST.read_text().splitlines() if line and line[0] != "#"]
    return {program: [name for of, name in rows if of == program] for program in PROGRAMS}


def without(names):
    """doctest's words that leave out these cases."""
    return [f"--test-case-exclude={','.join(map(pattern, names))}"] if names else []


def pattern(name):
    return name.replace("\\", "?").replace(",", "?")  # commas separate patterns


class NoCases(Exception):
    """Why a test program lists none."""


def cases(program, *words, environment=None):
    """The names of a test program's cases, in its order. Raises NoCases if it does not start, or has none."""
    listed = subprocess.run([str(program), "--list-test-cases", *words], capture_output=True, text=True,
                            env={**os.environ, **(environment or {})})
    names = [line for line in listed.stdout.splitlines() if line and not line.startswith(("[", "="))]
    if listed.returncode != 0 or not names:
        raise NoCases(f"{pathlib.Path(program).name} lists no test case, exit status {listed.returncode}: {listed.stderr.strip()}")
    return names


class Fake:
    """A build whose programs run on the fake, where what libraries write counts as never written."""

    def __init__(self, build):
        self.build = build

    def run(self, program, *words):
        environment = {"LD_PRELOAD": str(self.build / "tests/lab/cuda/fake/libfakecuda.so"), "FAKE_CUDA_LIBRARIES": "unwritten",
                       "LEARN_EXPECT_DEVICE": "FAKE (no GPU)"}
        return subprocess.run([str(self.build / "bin" / program), *words], env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT)

    def reads_libraries(self, program, name):
        return self.run(program, f"--test-case={pattern(name)}").returncode != 0

    def check(self, program, names):
        """Faults of the list, as text."""
        known = cases(self.build / "bin" / program)
        found = [f"{program}: there is no case '{name}'" for name in names if name not in known]
        found += [f"{program}: '{name}' reads nothing that a library wrote" for name in names
                  if name in known and not self.reads_libraries(program, name)]
        rest = self.run(program, *without(names))
        if rest.returncode != 0:
            found.append(f"{program}: another case does, exit status {rest.returncode}:\n" + rest.stdout[-2000:])
        return found


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    fake = Fake(pathlib.Path(sys.argv[2]))
    if sys.argv[1] == "write":
        work = [(program, name) for program in PROGRAMS for name in cases(fake.build / "bin" / program)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            reads = list(pool.map(lambda one: fake.reads_libraries(*one), work))
        head = [line for line in LIST.read_text().splitlines() if line.startswith("#")] if LIST.exists() else []
        LIST.write_text("\n".join(head + [f"{program} {name}" for (program, name), yes in zip(work, reads) if yes]) + "\n")
        return
    listed = recorded()
    found = [line for program in PROGRAMS for line in fake.check(program, listed[program])]
    if found:
        sys.exit("\n".join(found) + f"\nIf that is right, run: {sys.argv[0]} write BUILD_DIR")
    print(f"{sum(map(len, listed.values()))} cases read what a library wrote, as {LIST.name} says")


if __name__ == "__main__":
    main()
