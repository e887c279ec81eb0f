#!/usr/bin/env python3
"""Makes the disk fail under a training: single system calls, a full disk, one without inodes, a limit of file sizes, a folder that cannot be
written. Each time: the exit status that the README promises, a text that says what was wrong, checkpoints that are whole, nothing half written,
and a record of how the run ended."""

import errno
import os
import re
import resource
import shutil
import signal
import subprocess

import harness

ERRORS = ("ENOSPC", "EIO", "EPERM", "EROFS")
CALLS = ("openat", "write", "fsync", "link", "rename", "symlink", "mkdir")
SAMPLE = 24  # of all pairs of a call and an error, unless all are tried
IO_ERROR = 5


def calls_on_files(trial):
    """The system calls of a run that touch its folder: (name, its number among those of that name, the line of the trace)."""
    trial.fresh("traced")
    log = os.path.join(trial.folder, "trace")
    outcome = trial.run("train", *harness.TINY, cwd="traced",
                        before=["strace", "-f", "-qq", "-y", "-s", "0", "-o", log, "-e", "trace=" + ",".join(CALLS)])
    trial.check(outcome.status == 0, "a run that is traced", outcome)
    numbers, found, about_report = dict.fromkeys(CALLS, 0), [], ""
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"\d+\s+(\w+)\((.*)", line)
            if match is None or match[1] not in numbers:
                continue
            numbers[match[1]] += 1
            if "report.html" in match[2]:
                about_report = " of report.html"  # the last thing that is written, and its folder is synced
            # Folders are opened to be locked, listed and synced; the latter fails as fsync.
            if "runs" in match[2] and (match[1] != "openat" or "O_WRONLY" in match[2]):
                found.append((match[1], numbers[match[1]], match[2] + about_report))
    os.unlink(log)
    return found


class Faults:
    def __init__(self, trial):
        self.trial = trial
        self.tried = self.held = 0
        trial.fresh("straight")
        trial.run("train", *harness.TINY, cwd="straight")
        self.expected = harness.result_of("straight/runs/train")

    def judge(self, what, outcome, text, run="faulty/runs/train", resumes=True):
        """A run that a failing disk has ended."""
        trial = self.trial
        before = trial.failed
        self.tried += 1
        trial.check(outcome.status == IO_ERROR, f"{what}: exit status {IO_ERROR}", outcome)
        trial.check(re.search(text, outcome.err), f"{what}: says '{text}'", outcome)
        if os.path.isdir(run):
            self.judge_folder(what, run, resumes)
        self.held += trial.failed == before

    def judge_folder(self, what, run, resumes):
        trial = self.trial
        trial.check(not harness.temporaries(run), f"{what}: nothing is left half written: {harness.temporaries(run)}")
        try:
            states = harness.whole_states(f"{run}/weights")
        except ValueError as problem:
            trial.check(False, f"{what}: a checkpoint is not whole: {problem}")
            return
        if os.path.exists(f"{run}/run.json"):
            record = harness.record_of(run)
            trial.check((record["status"], record["exit_code"]) == ("crashed", IO_ERROR), f"{what}: run.json says so: {record['status']}")
        if states and resumes:
            outcome = trial.run("train", "--resume", "runs/train", cwd=os.path.dirname(os.path.dirname(run)))
            if trial.check(outcome.status == 0, f"{what}: the run is resumed", outcome):
                trial.check(harness.result_of(run) == self.expected, f"{what}: it ends with the same bits")

    def inject(self, call, number, about, error):
        """One call fails, once."""
        trial = self.trial
        what = f"{call} {number} ({about[:60]}) {error}"
        trial.fresh("faulty")
        outcome = trial.run("train", *harness.TINY, cwd="faulty", before=harness.injecting(call, f"error={error}", number))
        warns = None
        if "run.log" in about and call == "write":
            warns = ""  # what only informs may be lost
        elif "report.html" in about:
            warns = "is not written: "  # the run has ended, and no run fails for its page
        elif call == "symlink" or ".latest" in about:
            warns = "latest' a link to"
        elif call == "link" and error == "EPERM":
            warns = "does not support hard links"
        if warns is None:
            self.judge(what, outcome, re.escape(os.strerror(getattr(errno, error))))
            return
        self.tried += 1
        good = trial.check(outcome.status == 0, f"{what}: the run ends well", outcome)
        good &= trial.check(outcome.err.count(warns) == 1 or warns == "", f"{what}: warns once", outcome)
        good &= trial.check(harness.result_of("faulty/runs/train") == self.expected, f"{what}: with the same bits")
        self.held += good

    def no_links_at_all(self):
        self.trial.fresh("faulty")
        outcome = self.trial.run("train", *harness.TINY, cwd="faulty", before=harness.injecting("link", "error=EPERM", "1+"))
        good = self.trial.check(outcome.status == 0, "a file system without hard links: the run ends well", outcome)
        good &= self.trial.check(outcome.err.count("does not support hard links") == 1, "it warns once, not at each save", outcome)
        good &= self.trial.check(not os.path.exists("faulty/runs/train/weights/last.prev.safetensors"), "there is no last.prev")
        good &= self.trial.check(harness.result_of("faulty/runs/train") == self.expected, "the bits are the same")
        self.tried += 1
        self.held += good

    def from_then_on(self):
        """A disk that is broken for good: what is said is the first error, not one of the record that cannot be written either."""
        trial = self.trial
        trial.fresh("faulty")
        outcome = trial.run("train", *harness.TINY, cwd="faulty", before=harness.injecting("fsync", "error=EIO", "12+"))
        self.tried += 1
        good = trial.check(outcome.status == IO_ERROR, "a disk that is broken for good: exit status 5", outcome)
        errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
        good &= trial.check(len(errors) == 1 and "run.json" not in errors[0], "the error is the first one", outcome)
        good &= trial.check(not harness.temporaries("faulty"), "nothing is left half written")
        self.held += good


def mounted(trial, name, words):
    """Mounts a separate file system; returns whether that works."""
    os.makedirs(name, exist_ok=True)
    if os.geteuid() != 0:
        trial.skip(name, "not root: no file system can be mounted")
        return False
    done = subprocess.run(["mount", *words, name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        trial.skip(name, "mount: " + done.stderr.decode(errors="replace").strip())
    return done.returncode == 0


def unmount(name):
    subprocess.run(["umount", name], check=False)


def full_disk(faults):
    trial = faults.trial
    if not mounted(trial, "full disk", ["-t", "tmpfs", "-o", "size=1m", "tmpfs"]):
        return
    try:
        outcome = trial.run("train", *harness.TINY, cwd="full disk")
        trial.check(re.search(r"has 1\.0 MiB free; checkpoints of 0\.4 MiB want", outcome.err) is None,
                    "no warning where there is room for the usual", outcome)
        faults.judge("a full disk", outcome, r"disk full: need 0\.4 MiB, have (0\.\d MiB|\d+ bytes)", "full disk/runs/train", resumes=False)
        outcome = trial.run("train", "--resume", "runs/train", cwd="full disk")
        faults.judge("a disk that is still full", outcome, "disk full: need", "full disk/runs/train", resumes=False)
        trial.check("free; checkpoints of 0.4 MiB need" in outcome.err, "a run is warned before it begins", outcome)
        subprocess.run(["mount", "-o", "remount,size=16m", "full disk"], check=True)
        faults.judge_folder("a disk that has room again", "full disk/runs/train", resumes=True)
    finally:
        unmount("full disk")


def no_inodes(faults):
    trial = faults.trial
    if not mounted(trial, "no inodes", ["-t", "tmpfs", "-o", "nr_inodes=10", "tmpfs"]):
        return
    try:
        outcome = trial.run("train", *harness.TINY, cwd="no inodes")
        trial.check(outcome.status == IO_ERROR, "no more files: exit status 5", outcome)
        trial.check("No space left" in outcome.err, "no more files: says so", outcome)
        trial.check(not harness.temporaries("no inodes"), "no more files: nothing is left half written")
    finally:
        unmount("no inodes")


def read_only(faults):
    """Seen before data and model are made: no headline."""
    trial = faults.trial
    trial.fresh("locked")
    shutil.copytree("straight/runs", "locked/runs")
    record = harness.record_of("locked/runs/train")
    if os.geteuid() == 0:
        if not mounted(trial, "locked", ["--bind", "locked"]):
            return
        subprocess.run(["mount", "-o", "remount,ro,bind", "locked"], check=True)
    else:
        subprocess.run(["chmod", "-R", "a-w", "locked"], check=True)
    try:
        for words in (["--out", "locked/runs"], ["--out", "locked/deeper/runs"], ["--out", "locked/runs", "--exist-ok"]):
            outcome = trial.run("train", *harness.TINY, *words)
            what = " ".join(words)
            trial.check(outcome.status == IO_ERROR, f"{what} cannot be written: exit status 5", outcome)
            trial.check("cannot write into 'locked" in outcome.err and "params" not in outcome.err, f"{what}: before anything is made", outcome)
        trial.check(harness.record_of("locked/runs/train") == record, "and nothing has changed")
    finally:
        if os.geteuid() == 0:
            unmount("locked")
        else:
            subprocess.run(["chmod", "-R", "u+w", "locked"], check=True)


def limited_files(faults):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200 * 1024, 200 * 1024))

    faults.trial.fresh("faulty")
    outcome = faults.trial.run("train", *harness.TINY, cwd="faulty", preexec=limit)
    faults.judge("ulimit -f", outcome, r"File too large: need 0\.4 MiB, the limit of this process \(ulimit -f\) is 0\.2 MiB")


def main():
    trial = harness.Trial(__doc__)
    faults = Faults(trial)
    problem = harness.strace_problem()
    if problem:
        trial.skip("failing system calls", problem)
    else:
        calls = calls_on_files(trial)
        pairs = [(call, number, about, error) for call, number, about in calls for error in ERRORS]
        for call in CALLS:
            trial.check(any(pair[0] == call for pair in pairs), f"a run makes calls of {call}")
        for pair in pairs if trial.full else trial.random.sample(pairs, SAMPLE):
            faults.inject(*pair)
        faults.no_links_at_all()
        faults.from_then_on()
    limited_files(faults)
    full_disk(faults)
    no_inodes(faults)
    read_only(faults)
    print(f"faults of the disk: {faults.held} of {faults.tried} held")
    trial.conclude()


main()
