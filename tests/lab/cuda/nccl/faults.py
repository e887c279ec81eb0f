#!/usr/bin/env python3
"""Faults of ranks on GPUs under mpirun: faults.py MPIRUN FLAG_OF_THE_NUMBER FAULTY_GPU_RANK LIBFAKECUDA.

Each case plays a scenario of faulty_gpu_rank.cpp on the fake runtime, whose NCCL fails on demand, and checks mpirun's exit
code, what a user reads, and that all ranks end in time. Prints what failed; exit status 1 then.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "support"))
from fault_cases import ANY, DATA, RANKS, judge, judge_stopped, play_all, start  # noqa: E402

MPIRUN, NUMBER, PROGRAM, FAKE = sys.argv[1:5]


def ranks_of(scenario, ranks, deadline, *faults):
    """Rank 0 has the first of the faults, the last rank the last of them."""
    command = [MPIRUN]
    for i, fault in enumerate(faults or [""]):
        number = 1 if i + 1 < len(faults) else ranks - i
        command += [":"] * (i > 0) + [NUMBER, str(number), "env", f"LD_PRELOAD={FAKE}", f"FAKE_CUDA_DEVICES={ranks}",
                                      f"FAKE_NCCL={fault}", PROGRAM, scenario, str(deadline)]
    return start(command)


def play(scenario, ranks, code, *texts, deadline=1000, faults="", never="ended well"):
    judge(f"{scenario} {faults}", ranks_of(scenario, ranks, deadline, *faults.split()), code, *texts, never=f"{never}|FAKE (CUDA|NCCL) ERROR")


def stopped(ranks):
    judge_stopped("stops", ranks_of("stops", ranks, 1000), RANKS, STUCK.format("cuda:0"),
                  rf"rank {ranks - 1} \(\S+\) did not come to the roll call after a failure within 3 s")


FAILED = r"error: NCCL failed at rank 0 \(\S+\) during the gradients of batch 12: "
REMOTE = r"NCCL failed at rank 1 \(\S+\) during the gradients of batch 12: .*remote process exited"
STUCK = FAILED + r"its work on {} did not end within 1 s"
ANSWER = r"; all ranks still answer: raise the time"
CALLS = ("sum", "download", "upload", "item", "gather")
AGAIN = [*(f"{what} again: NCCL failed at rank 0 " for what in CALLS), "the device is idle"]
NO_ERROR = r"no error|ended well"
LONG = 100_000  # milliseconds of a deadline that must not be needed
CASES = [
    lambda: play("well", 2, 0, "ended well", never="error"),
    lambda: play("captured", 3, 0, "ended well", never="error"),
    lambda: play("late", 2, 0, "ended well", deadline=0, never="error"),
    lambda: play("late", 2, RANKS, STUCK.format("cuda:0")),
    lambda: play("one device", 3, RANKS, r"rank 0 \(\S+\) and rank 1 \(\S+\) use one GPU, cuda:0 \(bus \S+\): each rank needs its own\. "
                 r"Start .* with --device cuda:LOCAL_RANK"),
    lambda: play("one device", 1, 0, "ended well", never="error"),
    lambda: play("hangs", 2, RANKS, STUCK.format("cuda:0"), ANSWER, *AGAIN, faults="hang:2", never=NO_ERROR),
    *[lambda what=what: play(what, 2, RANKS, STUCK.format("cuda:0"), *AGAIN, faults="hang:2", never=NO_ERROR)
      for what in ("item", "synchronize", "batches")],
    lambda: play("captured", 2, RANKS, STUCK.format("cuda:0"), *AGAIN, faults="hang:2", never=NO_ERROR),
    lambda: play("remote", 2, RANKS, FAILED + ".*remote", ANSWER, *AGAIN, faults="remote:2", deadline=LONG, never=NO_ERROR),
    lambda: play("remote", 2, RANKS, FAILED, faults="timeout:2", deadline=LONG, never=NO_ERROR),
    # The other rank waits for its device, and in the second case on the host.
    lambda: play("remote", 2, RANKS, STUCK.format("cuda:0") + "; " + REMOTE, "error: " + REMOTE, faults="remote:2@1", never=NO_ERROR),
    lambda: play("waits on the host", 2, RANKS, "error: " + REMOTE + r".*; rank 0 \(\S+\) answers, but calls the gathering of 8 bytes, the "
                 "gradients of batch 12", faults="remote:2@1", deadline=LONG, never=NO_ERROR + "|ranks differ|NCCL failed.*NCCL failed"),
    # Freeing memory waits for the device.
    *[lambda what=what: play(what, 2, DATA, "error: this rank's data is damaged", faults="hang:2")
      for what in ("frees memory", "frees pinned memory")],
    lambda: play("slow", 2, 0, "ended well", faults="slow:50", never="error"),
    lambda: play("throws", 3, DATA, "error: this rank's data is damaged", deadline=LONG),
    lambda: play("dies", 2, ANY, deadline=LONG, never="ended well"),
    lambda: play("absent at the end", 2, RANKS, r"rank 0 \(\S+\) during the end of NCCL: ncclCommFinalize did not end within 1 s; rank 1 "
                 r"\(\S+\) did not come to the roll call"),
    # Sums that are under way are aborted.
    lambda: play("absent on the host", 2, RANKS, *[rf"{what} again: rank 1 \(\S+\) did not come to the gradients of batch 12 within 1 s"
                                                   for what in CALLS], never=NO_ERROR),
    lambda: play("start", 2, RANKS, r"NCCL failed at rank \d \(\S+\) during the start of NCCL: ncclCommInitRankConfig: ", faults="system"),
    lambda: play("old", 2, RANKS, r"rank 0 \(\S+\) has no NCCL, which ranks on GPUs need: \S+ is NCCL 2\.17\.0, but 2\.18 or newer is "
                 r"needed: install it \(pip install nvidia-nccl-cu1\d\)", faults="version:21700"),
    lambda: play("old", 2, RANKS, r"rank 1 \(\S+\) has no NCCL, .* 2\.17\.0", faults="version:23203 version:21700"),
    lambda: play("another version", 3, RANKS, r"rank 1 \(\S+\) has NCCL 2\.20\.5, but rank 0 \(\S+\) has 2\.32\.3: install one version on "
                 r"all hosts", faults="version:23203 version:22005"),
    lambda: stopped(3),
    lambda: stopped(2),
]
play_all(CASES, 2)
