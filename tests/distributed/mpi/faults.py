#!/usr/bin/env python3
"""Faults of ranks under mpirun: faults.py MPIRUN FLAG_OF_THE_NUMBER FAULTY_RANK PLUGIN_OF_ANOTHER_VERSION
EMPTY_PLUGIN.

Each case plays a scenario of faulty_rank.cpp, and checks mpirun's exit code, what a user reads, and that all ranks end in
time. Prints what failed; exit status 1 then.
"""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MPIRUN, NUMBER, PROGRAM, OTHER_VERSION, EMPTY = sys.argv[1:6]
LIMIT = 60  # seconds; the machine may be busy
RANKS = 9  # exit codes
INTERNAL, USAGE, DATA = 1, 2, 3
ANY = None  # the exit code is the MPI's
failures = []


def check(what, ok, shown=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}", flush=True)


def start(command, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PMI", "SLURM", "OMPI_COMM", "MV2", "WORLD_SIZE"))}
    return subprocess.Popen(command, env={**environment, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)


def ended(process, what):
    try:
        output = process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
        check(f"{what}: ends within {LIMIT} s", False, output)
    return process.returncode, output


def play(scenario, ranks, code, *texts, deadline=1000, never="ended well"):
    """Checks the exit code, that each text, a regular expression, is in the output, and that `never` is not."""
    begin = time.monotonic()
    status, output = ended(start([MPIRUN, NUMBER, str(ranks), PROGRAM, scenario, str(deadline)]), scenario)
    check(f"{scenario}: exit code {code}", code in (status, ANY), f"{status}\n{output}")
    for text in texts:
        check(f"{scenario}: {text}", re.search(text, output), output)
    check(f"{scenario}: not '{never}'", never not in output, output)
    if os.environ.get("SHOW"):
        print(f"--- {scenario}, {ranks} ranks: {status} after {time.monotonic() - begin:.1f} s\n{output}", flush=True)


def stopped():
    """Rank 2 of 3 stops; the others end without it, and mpirun kills it."""
    process = start([MPIRUN, NUMBER, "3", PROGRAM, "stops", "1000"])
    line = ""
    while line is not None and not line.startswith("stopping"):
        line = process.stdout.readline() or None
    check("stops: the rank stops", line is not None)
    status, output = ended(process, "stops")
    check(f"stops: exit code {RANKS}", status == RANKS, f"{status}\n{output}")
    check("stops: it is named", re.search(r"rank 2 \(\S+\) did not come to the gradients of batch 12 within 1 s", output), output)
    if line:
        pid = int(line.split()[1])
        for _ in range(100):
            if not Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        check("stops: mpirun ends the stopped rank", False)


def without_mpirun():
    """The variables of a launcher that started several ranks, and an MPI that counts one."""
    status, output = ended(start([PROGRAM, "none", "500"], PMI_RANK="0", PMI_SIZE="4"), "another MPI")
    check("another MPI: exit code", status == USAGE, f"{status}\n{output}")
    check("another MPI: text", re.search(r"started by MPICH as rank 0 of 4, but to \S.* this is rank 0 of 1: is the launcher another MPI's\?",
                                         output), output)
    status, output = ended(start([PROGRAM, "none", "500"], OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_SIZE="2"), "contradiction")
    check("contradiction", status == USAGE and "contradicts" in output, output)


def without_library():
    """A program without the plug-in, and with another file in its place."""
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(PROGRAM, folder)
        variables = {"PMI_RANK": "0", "PMI_SIZE": "4", "LD_LIBRARY_PATH": ""}
        status, output = ended(start([program, "none", "500"], **variables), "no plug-in")
        check("no plug-in", status == USAGE and "started by MPICH as rank 0 of 4, but this program was built without MPI: install "
              "libopenmpi-dev and build again, or start one process" in output, output)
        (Path(folder) / "liblearn_mpi.so").write_text("not a library")
        status, output = ended(start([program, "none", "500"], **variables), "damaged plug-in")
        for library, text in ((OTHER_VERSION, "has version 0.0.0, but this program has"), (EMPTY, "has no learn_mpi_open")):
            shutil.copy(library, Path(folder) / "liblearn_mpi.so")
            status, other = ended(start([program, "none", "500"], **variables), text)
            check(text, status == USAGE and text in other, other)
        check("damaged plug-in", status == USAGE and "but liblearn_mpi.so cannot be loaded" in output, output)


MISSING = r"error: rank {} \(\S+\) did not come to the gradients of batch 12 within {} s"
DIFFER = r"ranks differ: rank 0 \(\S+\) calls the sum of 100 f32 values, the gradients of batch 12; rank {} \(\S+\) calls {}, the statistics"
LONG = 100_000  # milliseconds of a deadline that must not be needed
CASES = [
    lambda: play("well", 2, 0, "ended well", never="error"),
    lambda: play("late", 2, 0, "ended well", deadline=0, never="error"),
    lambda: play("sleeps", 3, RANKS, MISSING.format(2, 1)),
    lambda: play("sleeps in the middle", 2, RANKS, r"rank 1 \(\S+\) stopped during the gradients of batch 12: nothing came for 1 s"),
    # Rank 0 comes so late that its own deadline is after the time for answers.
    lambda: play("staggered", 3, RANKS, MISSING.format(2, 3), deadline=3000),
    lambda: play("late", 2, RANKS, r"the gradients of batch 12 .*within 1 s", "again: "),
    lambda: play("ends", 3, DATA, "printed before the end"),
    lambda: play("throws", 3, DATA, "error: this rank's data is damaged", deadline=LONG),
    lambda: play("leaves an error", 2, DATA, "error: this rank's data is damaged", deadline=LONG, never="ranks differ"),
    lambda: play("returns", 2, ANY, deadline=LONG),
    lambda: play("size", 3, RANKS, DIFFER.format(2, "the sum of 99 f32 values"), "All ranks must run the same program", deadline=LONG),
    lambda: play("kind", 2, RANKS, DIFFER.format(1, "the sum of 100 f64 values"), deadline=LONG),
    lambda: play("call", 2, RANKS, DIFFER.format(1, "the broadcast of 8 bytes by rank 0"), deadline=LONG),
    lambda: play("absent at the end", 2, RANKS, r"rank 1 \(\S+\) did not come to the end of the program within 1 s", never="ranks differ"),
    lambda: play("opens again", 1, USAGE, "MPI has ended in this process and cannot start again", never="ranks differ"),
    lambda: play("long messages", 1, INTERNAL, "max_message_bytes is 2147483648, but must be at least 8 and at most 1073741824"),
    stopped,
    without_mpirun,
    without_library,
]
# Most of the time passes in waits.
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for done in [pool.submit(case) for case in CASES]:
        done.result()
print("FAILED" if failures else "all as promised")
sys.exit(1 if failures else 0)
