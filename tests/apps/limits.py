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

    def batches_that_do_not_fit(self):
        """Where memory runs out in the first epoch, smaller batches are tried, and recorded; three times."""
        trial = self.trial

        def train(limit, name, *words):
            self.tried += 1
            return trial.run("train", "--data", "synthetic10", "--train-limit", "512", "--valid-limit", "64", "--model", "small", "--width",
                             "8", "--batch-size", "512", "--epochs", "1", "--threads", "1", "--workers", "0", "--no-plots", "--out",
                             "limited/runs", "--name", name, *words, env={**os.environ, "LEARN_MEM_LIMIT": limit})

        done = train("2G", "whole")
        trial.check(done.status == 0 and "starts again" not in done.err, "a limit that is not reached changes nothing", done)
        done = train("48M", "halved")
        trial.check(done.status == 0, "a smaller batch fits", done)
        trial.check("starts again with batches of 256 images, 2 for each update (1 of 3)" in done.err, "which is said", done)
        config = open("limited/runs/halved/config.toml").read()
        halvings = done.err.count("starts again")
        trial.check(f"batch-size = {512 >> halvings}" in config and f"accumulate = {1 << halvings}" in config, "and recorded", config)
        trial.check('"status": "finished"' in open("limited/runs/halved/run.json").read(), "as a run like any other")
        # Weights of classes are those of the whole batch: the same as if the sizes had been said.
        weighted = ("--class-weights", "balanced")
        done = train("48M", "weighted", *weighted)
        halvings = done.err.count("starts again")
        same = train("2G", "same", *weighted, "--batch-size", str(512 >> halvings), "--accumulate", str(1 << halvings))
        columns = ("train_loss", "valid_loss", "accuracy")
        lost = [[[row[c] for c in columns] for row in harness.table_of(f"limited/runs/{name}/results.csv")] for name in ("weighted", "same")]
        trial.check(halvings > 0 and same.status == 0 and lost[0] == lost[1], "smaller batches have the losses of --accumulate", (lost, done, same))
        self.held += 2
        for name, words, times in (("tiny", (), 3), ("refused", ("--no-shrink-batch",), 0),
                                   ("own", ("--callbacks", "gradient_accumulation:batches=2"), 0)):
            done = train("10M", name, *words)
            trial.check(done.status == 6 and done.err.count("starts again") == times,
                        f"status 6 after {times} smaller batches", done)
            trial.check("LEARN_MEM_LIMIT allows" in done.err and "try a smaller --batch-size" in done.err, "with what to do", done)
            self.held += 1
        done = train("much", "wrong")
        trial.check(done.status == 2 and "LEARN_MEM_LIMIT: 'much' is not a size" in done.err, "a limit that is none is refused", done)
        self.held += 3

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

    # The whole set is drawn for a split; its images, 146 MiB, are allocated at once.
    limits.train("100 MiB for a data set that is larger", (6,), lambda: as_limit(resource.RLIMIT_AS, (least + 100) * MEBIBYTE),
                 ["--val-split", "0.5"])
    done = trial.run("data", "info", "synthetic10", preexec=lambda: as_limit(resource.RLIMIT_AS, (least + 100) * MEBIBYTE))
    trial.check(done.status == 6 and "error: out of memory" in done.err and "batch-size" not in done.err,
                "a command without --batch-size does not advise it", done)

    statuses = [limits.train(f"{files} open files", (0, 5, 6), lambda files=files: as_limit(resource.RLIMIT_NOFILE, files))
                for files in range(4, 24)]
    trial.check(statuses[-1] == 0 and statuses[0] == 5, f"few open files are status 5, and enough are enough: {statuses}")

    if os.geteuid() != 0:
        trial.skip("few processes", "not root: the limit counts other processes of this user")
    else:
        for processes in range(1, 12, 1 if trial.full else 4):
            for words in (["--threads", "8"], ["--threads", "4", "--workers", "4"]):
                limits.train(f"{processes} processes, {' '.join(words)}", (0, 5, 6), lambda value=processes: few_processes(value), words)
    limits.batches_that_do_not_fit()
    print(f"limits: {limits.held} of {limits.tried} held")
    trial.conclude()


main()
