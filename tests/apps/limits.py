#!/usr/bin/env python3
"""Trains with too little memory, too few open files and too few processes. The program says what is missing and ends with the status for it,
or does its work; no signal ever ends it, and what it leaves is whole."""

import os
import resource
import shutil

import harness

MEBIBYTE = 1 << 20
NOBODY = 65534


class Limits:
    def __init__(self, trial):
        self.trial = trial
        self.tried = self.held = 0
        trial.fresh("limited")
        # Another user can run it from here, wherever it was built.
        trial.learn = shutil.copy(trial.learn, trial.folder)
        for path in (trial.folder, "limited"):
            os.chmod(path, 0o777)

    def train(self, what, allowed, limit, words=()):
        """Trains under a limit that `limit` sets; these statuses are right."""
        trial = self.trial
        shutil.rmtree("limited/runs", ignore_errors=True)
        outcome = trial.run("train", *harness.TINY, *words, cwd="limited", preexec=limit)
        self.tried += 1
        before = trial.failed
        trial.check(outcome.status in allowed, f"{what}: one of the statuses {allowed}", outcome)
        trial.check(outcome.status == 0 or "error: " in outcome.err, f"{what}: says what is missing", outcome)
        if os.path.isdir("limited/runs"):
            trial.check(not harness.temporaries("limited"), f"{what}: nothing is left half written")
            if os.path.isdir("limited/runs/train/weights"):
                harness.whole_states("limited/runs/train/weights")
        self.held += trial.failed == before
        return outcome.status

    def least_memory(self):
        """The least address space in which the program starts, to a mebibyte."""
        low, high = 0, 4096
        while high - low > 1:
            middle = (low + high) // 2
            done = self.trial.run("--version", preexec=lambda: as_limit(resource.RLIMIT_AS, middle * MEBIBYTE))
            low, high = (low, middle) if done.status == 0 else (middle, high)
        return high


def as_limit(what, value):
    resource.setrlimit(what, (value, value))


def few_processes(value):
    """Root has no such limit."""
    as_limit(resource.RLIMIT_NPROC, value)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def main():
    trial = harness.Trial(__doc__)
    limits = Limits(trial)

    least = limits.least_memory()
    statuses = []
    for more in range(0, 400, 5 if trial.full else 50):
        jitter = trial.random.randint(0, 4)
        statuses.append(limits.train(f"{least + more + jitter} MiB of addresses", (0, 6),
                                     lambda size=least + more + jitter: as_limit(resource.RLIMIT_AS, size * MEBIBYTE)))
    trial.check(statuses[-1] == 0, f"enough memory is enough: {statuses}")

    statuses = [limits.train(f"{files} open files", (0, 5, 6), lambda files=files: as_limit(resource.RLIMIT_NOFILE, files))
                for files in range(4, 24)]
    trial.check(statuses[-1] == 0 and statuses[0] == 5, f"few open files are status 5, and enough are enough: {statuses}")

    if os.geteuid() != 0:
        trial.skip("few processes", "not root: the limit counts other processes of this user")
    else:
        for processes in range(1, 12, 1 if trial.full else 4):
            for words in (["--threads", "8"], ["--threads", "4", "--workers", "4"]):
                limits.train(f"{processes} processes, {' '.join(words)}", (0, 5, 6), lambda value=processes: few_processes(value), words)
    print(f"limits: {limits.held} of {limits.tried} held")
    trial.conclude()


main()
