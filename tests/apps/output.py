#!/usr/bin/env python3
"""Tests `learn` when its output cannot be written: output.py PATH/TO/learn.

A training continues, or ends with its state saved; a command whose purpose is its output fails. Prints failures; exit
status 1 then.
"""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEARN = str(Path(sys.argv[1]).resolve())
TINY = ("--data synthetic10 --train-limit 128 --valid-limit 64 --model small --width 4 --batch-size 32 --threads 1 "
        "--workers 1 --no-plots").split()
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {seen}")


def record(run):
    return json.loads(Path("runs", run, "run.json").read_text())


def learn(*words, **streams):
    return subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, timeout=120, **streams)


def closed(*descriptors):
    """For `preexec_fn`: closes them in the program's process."""
    return lambda: [os.close(fd) for fd in descriptors]


def trainings_go_on():
    full = open("/dev/full", "w")
    ways = {
        "no-stderr": {"preexec_fn": closed(2)},
        "no-stdout": {"preexec_fn": closed(1)},
        "no-streams": {"preexec_fn": closed(0, 1, 2)},
        "full-stderr": {"stderr": full, "stdout": subprocess.DEVNULL},
        "full-stdout": {"stdout": full, "stderr": subprocess.DEVNULL},
    }
    rows = {}
    for name, streams in ways.items():
        done = learn("train", *TINY, "--epochs", "2", "--name", name, **streams)
        check(f"{name}: a training ends well", done.returncode == 0, done)
        check(f"{name}: its record says so", record(name)["status"] == "finished", record(name))
        table = Path("runs", name, "results.csv").read_text().splitlines()
        rows[name] = [line.split(",")[2:5] for line in table]
        check(f"{name}: the weights are what the table says",
              learn("eval", f"runs/{name}", capture_output=True).returncode == 0)
    check("the numbers are the same", len({str(row) for row in rows.values()}) == 1, rows)
    log = Path("runs/full-stderr/run.log").read_text()
    check("lost output is noted once", log.count("cannot write to file descriptor") == 1, log)


def results_that_nobody_gets():
    calls = [["models"], ["models", "small"], ["options"], ["--help"], ["train", "--help"], ["--version"],
             ["train", *TINY, "--print-config"], ["train", *TINY, "--explain"], ["train", *TINY, "--dry-run"], ["train", *TINY, "--params"],
             ["doctor", "--seconds", "0"], ["eval", "runs/full-stdout"]]
    for words in calls:
        for name, streams in {"full": {"stdout": open("/dev/full", "w")}, "closed": {"preexec_fn": closed(1)}}.items():
            done = learn(*words, stderr=subprocess.PIPE, **streams)
            text = done.stderr.decode()
            check(f"{words} into a {name} standard output is status 5", done.returncode == 5, done)
            check(f"{words} into a {name} standard output says so", "cannot write to standard output" in text, text)


def start_in_terminal(*words):
    """Starts the program in a new session, as a terminal emulator starts a shell; returns process and terminal."""
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        import fcntl
        import termios
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may be run under nohup

    process = subprocess.Popen([LEARN, *words], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
    os.close(slave)
    return process, master


def until(condition, process):
    for _ in range(600):
        if condition():
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    check("the program gets that far", False, process.poll())


def weights(run):
    """Weights of the best epoch, without the header, which contains the name of the run."""
    data = Path("runs", run, "weights/best.safetensors").read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


def saved(run):
    return lambda: Path("runs", run, "weights/last.safetensors").exists()


def closing_terminals():
    options = [*TINY, "--epochs", "6"]
    learn("train", *options, "--name", "straight", capture_output=True)
    process, master = start_in_terminal("train", *options, "--epochs", "6", "--name", "hung-up")
    until(saved("hung-up"), process)
    os.close(master)
    process.send_signal(signal.SIGHUP)  # from the shell, beside the kernel's
    status = process.wait(timeout=60)
    check("a terminal that closes ends the training as SIGHUP does", status == 129, status)
    check("which is recorded", record("hung-up")["status"] == "interrupted", record("hung-up"))
    done = learn("train", "--resume", "runs/hung-up", capture_output=True)
    check("it is resumed", done.returncode == 0, done)
    check("and ends with the same bits", weights("hung-up") == weights("straight"))


def pipes_that_close():
    options = ["train", *TINY, "--epochs", "3", "--name", "piped"]
    process = subprocess.Popen([LEARN, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    process.stdout.close()
    check("a training outlives the reader of its table", process.wait(timeout=60) == 0, process.returncode)
    check("and does all of it", record("piped")["epochs_done"] == 3, record("piped"))


def checkpoints_on_demand():
    options = ["train", *TINY, "--epochs", "2", "--train-limit", "1024", "--accumulate", "2"]
    learn(*options, "--name", "undisturbed", capture_output=True)
    words = Path("words.txt")
    with words.open("w") as to:
        process = subprocess.Popen([LEARN, *options, "--name", "asked"], stdout=subprocess.DEVNULL, stderr=to)
    until(lambda: Path("runs/asked/run.json").exists(), process)
    while "saved the state after batch" not in words.read_text() and process.poll() is None:
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.02)
    process.kill()
    process.wait()
    text = words.read_text()
    check("SIGUSR1 saves the state in the middle of an epoch", "saved the state after batch" in text, text)
    check("which is no end of the run", record("asked")["status"] == "running", record("asked"))
    done = learn("train", "--resume", "runs/asked", capture_output=True)
    check("a run goes on from there", done.returncode == 0 and b"in epoch 1 of 2" in done.stderr, done)
    check("and ends with the same bits", weights("asked") == weights("undisturbed"))


def names_that_steer_terminals():
    folder = Path("photos")
    for name in ("cat", "dog\x1b]0;owned\x07"):
        (folder / name).mkdir(parents=True)
        (folder / name / "bad\x1b[2J.jpg").write_bytes(b"no image")
    done = learn("train", "--data", str(folder), "--epochs", "1", capture_output=True)
    check("escape sequences in names do not reach the terminal", b"\x1b" not in done.stderr + done.stdout, done.stderr)
    check("the error is one of data", done.returncode == 3, done)


with tempfile.TemporaryDirectory(prefix="learn output ") as scratch:
    os.chdir(scratch)
    os.environ.pop("LEARN_DATA", None)
    trainings_go_on()
    results_that_nobody_gets()
    closing_terminals()
    pipes_that_close()
    checkpoints_on_demand()
    names_that_steer_terminals()
    os.chdir("/")
print(f"{len(failures)} failed" if failures else "all passed")
sys.exit(bool(failures))
