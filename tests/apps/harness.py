"""Common code of the programs that run `learn` under faults: small runs, their results, and the closing line.

A program makes a `Trial`, calls `check` any number of times, and ends with `conclude`. It works in an empty folder. Random choices
come from `Trial.random`, whose seed is printed; `--seed N` repeats them, `--full` tries everything instead of a sample.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

# A training of a moment: 0.05 s, a few saves.
TINY = ["--data", "synthetic10", "--train-limit", "64", "--valid-limit", "32", "--model", "linear", "--batch-size", "16", "--epochs",
        "3", "--threads", "1", "--workers", "0", "--no-plots", "--save-every", "2"]
SKIPPED = 77


class Outcome:
    """How a call of the program ended."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"status {self.status}\n  out: {self.out[-1500:]}\n  err: {self.err[-1500:]}"


def shown_at(terminal, seen=lambda shown: None):
    """Returns everything written to the other side of `terminal` until it is closed; calls `seen` after each part.

    Linux checks for text first and then whether the other side is closed. Text that a program writes in between, just before it
    exits, is returned by the next read only (n_tty_read in drivers/tty/n_tty.c).
    """
    shown, failed = b"", 0
    while failed < 2:
        try:
            shown += os.read(terminal, 4096)
            failed = 0
            seen(shown.decode(errors="replace"))
        except OSError:
            failed += 1
    os.close(terminal)
    return shown.decode(errors="replace")


def died_of_signal(status):
    """Killed by a signal, not ended by itself after one."""
    return status < 0


class Trial:
    def __init__(self, about):
        parser = argparse.ArgumentParser(description=about)
        parser.add_argument("learn", help="the program")
        parser.add_argument("--full", action="store_true", help="everything instead of a sample")
        parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
        options = parser.parse_args()
        self.learn = os.path.realpath(options.learn)
        self.full = options.full
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="learn faults ")
        os.chdir(self.folder)
        os.environ.pop("LEARN_DATA", None)
        self.passed = self.failed = 0
        self.skipped = []
        print(f"seed {options.seed}", flush=True)

    def run(self, *words, before=(), cwd=None, preexec=None, timeout=120, env=None):
        """Runs `learn WORDS`, after the words of another program, if any."""
        done = subprocess.run([*before, self.learn, *words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=preexec, timeout=timeout, check=False, env=env)
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def expect(self, *words, status=0):
        """Runs `learn WORDS`, which must end with this status."""
        outcome = self.run(*words)
        self.check(outcome.status == status, f"learn {' '.join(map(str, words))} has status {status}", outcome)
        return outcome

    def refuse(self, why, *words, status=2):
        """Runs `learn WORDS`, which must be refused with the text `why`."""
        outcome = self.expect(*words, status=status)
        self.check(why in outcome.err, f"the reason: {why}", outcome)
        return outcome

    def start(self, *words, **more):
        """Starts it without waiting. It receives a hangup, even if the tests run under nohup."""
        more.setdefault("preexec_fn", lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        return subprocess.Popen([self.learn, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def check(self, condition, what, outcome=None):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}" + (f"\n  {outcome}" if outcome else ""), flush=True)
        return bool(condition)

    def skip(self, what, why):
        self.skipped.append(f"{what}: {why}")

    def fresh(self, name):
        """An empty folder."""
        shutil.rmtree(name, ignore_errors=True)
        os.makedirs(name)
        return name

    def conclude(self):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)
        for line in self.skipped:
            print(f"skipped: {line}")
        print(f"{self.passed} passed, {self.failed} failed, {len(self.skipped)} skipped")
        sys.exit(1 if self.failed else SKIPPED if self.skipped and self.passed == 0 else 0)


def rows_of(text):
    """The rows of a table in CSV, by the names in its header."""
    return list(csv.DictReader(io.StringIO(text)))


def table_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return rows_of(file.read())


def read_checkpoint(path):
    """Metadata and tensors (as bytes) of a safetensors file; raises ValueError unless it is whole."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 8:
        raise ValueError("shorter than a length")
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    payload = data[8 + size:]
    metadata = header.pop("__metadata__")
    # The hash of the file, with zeros in its own place.
    said = metadata["learn.sha256"]
    if hashlib.sha256(data.replace(said.encode(), b"0" * len(said), 1)).hexdigest() != said:
        raise ValueError("the bytes are not those that were hashed")
    return metadata, {name: payload[slice(*entry["data_offsets"])] for name, entry in header.items()}


def result_of(run):
    """The parts of two runs that must be equal: state, weights and table, except times and paths."""
    with open(f"{run}/results.csv", encoding="utf-8") as file:
        table = [line.split(",")[:1] + line.split(",")[2:6] for line in file]
    result = {"table": table}
    for name in ("last", "best"):
        metadata, tensors = read_checkpoint(f"{run}/weights/{name}.safetensors")
        result[name] = {key: value for key, value in tensors.items() if "recorder" not in key}
        result[f"{name} state"] = {key: value for key, value in metadata.items() if key.startswith("state.") and "recorder" not in key}
    return result


def record_of(run):
    with open(f"{run}/run.json", encoding="utf-8") as file:
        return json.load(file)


def temporaries(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if ".tmp." in name]


def whole_states(weights):
    """The existing ones of last and last.prev; raises ValueError if one of them is incomplete."""
    found = {}
    for name in ("last", "last.prev"):
        path = f"{weights}/{name}.safetensors"
        if os.path.exists(path):
            found[name] = int(read_checkpoint(path)[0]["learn.epoch"])
    return found


def strace_problem():
    """Why faults cannot be injected into system calls; empty if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=unlink", "-e", "inject=unlink:error=EIO:when=1", "true"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return "" if tried.returncode == 0 else "strace cannot inject: " + tried.stderr.decode(errors="replace").strip()[:200]


def injecting(call, fault, when):
    """The words before a program of which the `when`-th call of this kind fails, as `error=EIO`, or kills it."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={when}"]


def calls_made(trial, words, calls):
    """How often a run makes each of these system calls, without faults."""
    log = os.path.join(trial.folder, "calls")
    subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=" + ",".join(calls), trial.learn, *words],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    counts = dict.fromkeys(calls, 0)
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            name = line.split(None, 1)[1].split("(", 1)[0]
            if name in counts:
                counts[name] += 1
    os.unlink(log)
    return counts
