#!/usr/bin/env python3
"""Faults of ranks under mpirun: faults.py MPIRUN FLAG_OF_THE_NUMBER FAULTY_RANK PLUGIN_OF_ANOTHER_VERSION
EMPTY_PLUGIN.

Each case plays a scenario of faulty_rank.cpp, and checks mpirun's exit code, what a user reads, and that all ranks end in
time. Prints what failed; exit status 1 then.
"""
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from fault_cases import ANY, DATA, INTERNAL, RANKS, USAGE, judge, judge_stopped, play_all, start  # noqa: E402

MPIRUN, NUMBER, PROGRAM, OTHER_VERSION, EMPTY = sys.argv[1:6]


def ranks_of(scenario, ranks, deadline):
    return start([MPIRUN, NUMBER, str(ranks), PROGRAM, scenario, str(deadline)])


def play(scenario, ranks, code, *texts, deadline=1000, **more):
    judge(scenario, ranks_of(scenario, ranks, deadline), code, *texts, **more)


def without_mpirun():
    """The variables of a launcher that started several ranks, and an MPI that counts one."""
    judge("another MPI", start([PROGRAM, "none", "500"], PMI_RANK="0", PMI_SIZE="4"), USAGE,
          r"started by MPICH as rank 0 of 4, but to \S.* this is rank 0 of 1: is the launcher another MPI's\?")
    judge("contradiction", start([PROGRAM, "none", "500"], OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_SIZE="2"), USAGE, "contradicts")


def without_library():
    """A program without the plug-in, and with another file in its place."""
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(PROGRAM, folder)
        plugin = Path(folder) / "liblearn_mpi.so"

        def refused(what, text):
            judge(what, start([program, "none", "500"], PMI_RANK="0", PMI_SIZE="4", LD_LIBRARY_PATH=""), USAGE, text)

        refused("no plug-in", "started by MPICH as rank 0 of 4, but this program was built without MPI: install libopenmpi-dev and build "
                "again, or start one process")
        plugin.write_text("not a library")
        refused("damaged plug-in", r"but liblearn_mpi\.so cannot be loaded")
        for library, text in ((OTHER_VERSION, r"has version 0\.0\.0, but this program has"), (EMPTY, "has no learn_mpi_open")):
            shutil.copy(library, plugin)
            refused("another plug-in", text)


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
    lambda: judge_stopped("stops", ranks_of("stops", 3, 1000), RANKS, MISSING.format(2, 1)),
    without_mpirun,
    without_library,
]
play_all(CASES, 4)
