#!/usr/bin/env python3
"""Kills a training at random moments and at the system calls of its saves. Whatever the moment: each checkpoint that is there is
whole, and the run that is resumed ends with the bits of one that was never killed."""

import signal
import time

import harness

# System calls of a save, and those around it.
CALLS = ("write", "fsync", "link", "rename", "openat", "unlink")
SAMPLE = 8  # of the calls of one kind, unless all are tried


class Kills:
    def __init__(self, trial):
        self.trial = trial
        self.tried = self.held = self.resumed = 0
        trial.fresh("straight")
        begun = time.monotonic()
        outcome = trial.run("train", *harness.TINY, cwd="straight")
        self.seconds = time.monotonic() - begun
        trial.check(outcome.status == 0, "a run that is never killed", outcome)
        self.expected = harness.result_of("straight/runs/train")

    def judge(self, what):
        """State of the run in `killed`, whose process is gone."""
        trial = self.trial
        self.tried += 1
        before = trial.failed
        try:
            states = harness.whole_states("killed/runs/train/weights")
        except ValueError as problem:
            trial.check(False, f"{what}: a checkpoint is not whole: {problem}")
            return
        if states:
            self.resumed += 1
            trial.check("last" in states, f"{what}: last is missing where {states} is there")
            outcome = trial.run("train", "--resume", "runs/train", cwd="killed")
            if trial.check(outcome.status == 0, f"{what}: the run is resumed", outcome):
                trial.check(harness.result_of("killed/runs/train") == self.expected, f"{what}: it ends with the same bits")
                trial.check(not harness.temporaries("killed"), f"{what}: temporary files are swept: {harness.temporaries('killed')}")
                trial.check(harness.record_of("killed/runs/train")["status"] == "finished", f"{what}: run.json says finished")
        else:
            outcome = trial.run("train", "--resume", "runs/train", cwd="killed")
            trial.check(outcome.status == 4, f"{what}: a run without a checkpoint is status 4", outcome)
        self.held += trial.failed == before

    def at_a_moment(self, seconds):
        self.trial.fresh("killed")
        process = self.trial.start("train", *harness.TINY, cwd="killed")
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.judge(f"killed after {seconds:.4f} s")

    def at_a_call(self, call, when):
        self.trial.fresh("killed")
        outcome = self.trial.run("train", *harness.TINY, cwd="killed", before=harness.injecting(call, "signal=KILL", when))
        if self.trial.check(outcome.status in (-signal.SIGKILL, 128 + signal.SIGKILL), f"{call} {when} kills", outcome):
            self.judge(f"killed at {call} {when}")


def main():
    trial = harness.Trial(__doc__)
    kills = Kills(trial)
    for _ in range(200 if trial.full else 10):
        kills.at_a_moment(trial.random.uniform(0, 1.2 * kills.seconds))
    problem = harness.strace_problem()
    if problem:
        trial.skip("kills at system calls", problem)
    else:
        trial.fresh("counted")
        counts = harness.calls_made(trial, ["train", *harness.TINY, "--out", "counted"], CALLS)
        for call, count in counts.items():
            trial.check(count > 0, f"a run makes calls of {call}")
            every = range(1, count + 1)
            for when in every if trial.full else sorted(trial.random.sample(every, min(SAMPLE, count))):
                kills.at_a_call(call, when)
    trial.check(kills.resumed > 0, "some runs were killed after their first save")
    print(f"kills: {kills.held} of {kills.tried} held, {kills.resumed} of them with a checkpoint")
    trial.conclude()


main()
