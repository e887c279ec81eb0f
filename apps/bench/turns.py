"""Measures several systems in turns on one machine, for the comparisons in this folder.

Every run has its own process. A run counts as disturbed if other processes used more than BUSY cores while it ran.
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

BUSY = 0.1  # cores
# glibc gives large blocks back to the kernel and takes them again, whose page faults cost PyTorch and onnxruntime a tenth to a
# fifth of their speed. In their best form they keep them.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**26)}
LEGEND = f"""Median of undisturbed runs, and their spread: (highest - lowest) / median. "*": other processes used more than {BUSY} cores in every run."""


def peer_environment():
    """The environment in which other systems are fastest."""
    # Debian's OpenBLAS does not detect the CPU's actual kernel set.
    avx512 = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text()
    return {**os.environ, **KEEP_MEMORY, **({"OPENBLAS_CORETYPE": "SkylakeX"} if avx512 else {})}


def cpu_seconds():
    """CPU time that all processes of the machine, and of other guests in its place, have used; and that children of this one have."""
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = ticks
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")
    return busy, children.ru_utime + children.ru_stime


class Watched:
    """A stretch of time in which only children of this process should work."""

    def __init__(self):
        self.begin, (self.all, self.own) = time.monotonic(), cpu_seconds()

    def others(self):
        """Cores that other processes used until now. Children count when they have ended."""
        all_now, own_now = cpu_seconds()
        return max(0.0, ((all_now - self.all) - (own_now - self.own)) / (time.monotonic() - self.begin))


class Run(NamedTuple):
    status: int
    output: str
    errors: str
    others: float  # cores that other processes used


def run(command, environment=None, timeout=None):
    """Runs a program to its end. Raises subprocess.TimeoutExpired."""
    watched = Watched()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, env=environment)
    except OSError as fault:
        sys.exit(f"error: cannot run {command[0]}: {fault.strerror}. Build it, or give the path of another with --bench or --python")
    return Run(done.returncode, done.stdout, done.stderr, watched.others())


class Summary(NamedTuple):
    """Values of a system's runs, of which the undisturbed ones count, if there are any."""
    median: float
    spread: float  # of the median
    disturbed: bool

    def shown(self, form="{:.1f}"):
        return f"{form.format(self.median)}{'*' if self.disturbed else ''} ({self.spread:.0%})"


def summary(runs):
    """Sums up (value, cores that others used) of each run; None without runs."""
    if not runs:
        return None
    quiet = [value for value, others in runs if others <= BUSY]
    values = quiet or [value for value, _ in runs]
    median = statistics.median_low(values)
    return Summary(median, (max(values) - min(values)) / median, not quiet)


def in_turns(measurements, rounds):
    """Calls each measurement once per round, one after the other; returns the results of each, by its name."""
    results = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measurement in measurements.items():
            results[name].append(measurement())
    return results
