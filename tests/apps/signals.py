#!/usr/bin/env python3
"""Sends signals to a training: while it sets up, trains, validates, saves and plots, and twice. Each time: the exit status of that signal, a
record of it, and a state from which the run ends with the bits of one that was never stopped. And to searches for a rate and a size."""

import os
import signal
import time

import harness

# Longer than the usual one, with plots: 0.3 s.
RUN = [word for word in harness.TINY if word != "--no-plots"] + ["--epochs", "25"]
SEARCHED = "--data synthetic10 --train-limit 64 --model linear --threads 1 --workers 0".split()
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2, signal.SIGHUP)


class Signals:
    def __init__(self, trial):
        self.trial = trial
        self.tried = self.held = self.saved = 0
        trial.fresh("straight")
        begun = time.monotonic()
        outcome = trial.run("train", *RUN, cwd="straight")
        self.seconds = time.monotonic() - begun
        trial.check(outcome.status == 0, "a run that is never stopped", outcome)
        self.expected = harness.result_of("straight/runs/train")

    def start(self, **more):
        self.trial.fresh("stopped")
        return self.trial.start("train", *RUN, cwd="stopped", **more)

    def wait_for_epochs(self, process, epochs):
        """Waits until the table has that many rows; false if the run ended before."""
        table = "stopped/runs/train/results.csv"
        while process.poll() is None:
            if os.path.exists(table):
                with open(table, encoding="utf-8") as file:
                    if len(file.readlines()) > epochs:
                        return True
            time.sleep(0.001)
        return False

    def end(self, process):
        out, err = process.communicate(timeout=60)
        return harness.Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def judge(self, what, number, outcome):
        """State of a run that may have been stopped by this signal, or ended before."""
        trial = self.trial
        self.tried += 1
        before = trial.failed
        run = "stopped/runs/train"
        # Before there is anything to save, a signal has its usual effect.
        early = outcome.status == -number and not os.path.exists(f"{run}/run.json")
        trial.check(early or outcome.status in (0, 128 + number), f"{what}: exit status {128 + number}", outcome)
        if outcome.status in (0, 128 + number):
            record = harness.record_of(run)
            said = ("interrupted" if outcome.status else "finished", outcome.status)
            trial.check((record["status"], record["exit_code"]) == said, f"{what}: run.json says {said}: {record}")
            trial.check(not harness.temporaries(run), f"{what}: nothing is left half written")
        self.judge_state(what)
        self.held += trial.failed == before

    def judge_state(self, what):
        trial = self.trial
        run = "stopped/runs/train"
        try:
            states = harness.whole_states(f"{run}/weights")
        except ValueError as problem:
            trial.check(False, f"{what}: a checkpoint is not whole: {problem}")
            return
        if states:
            self.saved += 1
            outcome = trial.run("train", "--resume", "last", cwd="stopped")
            if trial.check(outcome.status == 0, f"{what}: the run is resumed", outcome):
                trial.check(harness.result_of(run) == self.expected, f"{what}: it ends with the same bits")

    def at_a_moment(self, number, seconds):
        process = self.start()
        time.sleep(seconds)
        process.send_signal(number)
        self.judge(f"{number.name} after {seconds:.4f} s", number, self.end(process))

    def after_epochs(self, number, epochs):
        """And a moment, so that it is sometimes training, sometimes validation or a save."""
        process = self.start()
        self.wait_for_epochs(process, epochs)
        time.sleep(self.trial.random.uniform(0, self.seconds / 25))
        process.send_signal(number)
        self.judge(f"{number.name} after {epochs} epochs", number, self.end(process))

    def twice(self, number):
        process = self.start()
        self.wait_for_epochs(process, self.trial.random.randint(1, 20))
        process.send_signal(number)
        time.sleep(self.trial.random.uniform(0, 0.01))
        process.send_signal(number)
        sent = time.monotonic()
        outcome = self.end(process)
        seconds = time.monotonic() - sent
        what = f"{number.name} twice"
        self.tried += 1
        good = self.trial.check(outcome.status in (0, 128 + number), f"{what}: exit status {128 + number}", outcome)
        good &= self.trial.check(seconds < 5, f"{what}: it leaves at once, not after {seconds:.1f} s")
        before = self.trial.failed
        self.judge_state(what)
        self.held += good and self.trial.failed == before

    def ignored(self, what, number, **more):
        process = self.start(**more)
        self.wait_for_epochs(process, 2)
        process.send_signal(number)
        outcome = self.end(process)
        self.tried += 1
        good = self.trial.check(outcome.status == 0, f"{what}: the run goes on to its end", outcome)
        good &= self.trial.check(harness.result_of("stopped/runs/train") == self.expected, f"{what}: with the same bits")
        self.held += good

    def search(self, number, *words):
        """A search that is stopped tells what it has seen, and leaves no run."""
        self.trial.fresh("stopped")
        process = self.trial.start(*words, *SEARCHED, cwd="stopped")
        process.stderr.readline()  # what is searched with: signals are caught now, or in a moment
        time.sleep(self.trial.random.uniform(0.1, 0.3))
        process.send_signal(number)
        outcome = self.end(process)
        what = f"{number.name} in {words[0]}"
        self.tried += 1
        good = self.trial.check(outcome.status == 128 + number, f"{what}: exit status {128 + number}", outcome)
        good &= self.trial.check("interrupted" in outcome.out, f"{what}: it says so", outcome)
        good &= self.trial.check(not os.path.exists("stopped/runs"), f"{what}: there is no run")
        self.held += good


def main():
    trial = harness.Trial(__doc__)
    signals = Signals(trial)
    for _ in range(20 if trial.full else 2):
        for number in STOPS:
            signals.at_a_moment(number, trial.random.uniform(0, 0.05))  # sets up
            signals.at_a_moment(number, trial.random.uniform(0, 1.1 * signals.seconds))
            signals.after_epochs(number, trial.random.randint(1, 24))
            signals.twice(number)
    for number in STOPS:
        signals.after_epochs(number, 25)  # plots, or ends
    signals.ignored("SIGPIPE", signal.SIGPIPE)
    signals.ignored("SIGHUP under nohup", signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    for number in STOPS:
        signals.search(number, "lr-find", "--iterations", "100000", "--no-stop", "--batch-size", "16")
        signals.search(number, "batch-size-find", "--steps", "10000")
    trial.check(signals.saved > 0, "some runs were stopped after their first save")
    print(f"signals: {signals.held} of {signals.tried} held, {signals.saved} of them with a checkpoint")
    trial.conclude()


main()
