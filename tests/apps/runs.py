#!/usr/bin/env python3
"""runs.py PATH/TO/learn: `learn runs` on runs that were trained, killed and damaged, and what is removed by it, with and without
a terminal."""
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time

from harness import TINY, Trial

trial = Trial(__doc__)


def check(what, condition, outcome):
    trial.check(condition, what, outcome)


def on_terminal(columns, answer, *words):
    """What `learn runs` shows on a terminal of so many columns where somebody types `answer`, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([trial.learn, "runs", *words], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.write(master, answer)
    shown = b""
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:  # all that was shown is read
        pass
    os.close(master)
    return shown.decode().replace("\r", ""), process.wait()


def first_line(columns):
    shown, _ = on_terminal(columns, b"", "--status", "finished")
    return next(line for line in shown.splitlines() if line.startswith("name"))


none = trial.run("runs")
check("without runs there is advice", none.status == 0 and "'learn train' makes them" in none.out, none)

for name, more in (("ten", []), ("two", ["--lr", "0.02"]), ("killed", ["--inject", "kill@7"]), ("broken", [])):
    trial.run("train", *TINY, "--name", name, *more)
trial.run("train", *TINY, "--name", "ten", "--exist-ok")
with open("runs/broken/run.json", "w", encoding="utf-8") as file:
    file.write('{"status": "finished", ')
os.makedirs("runs/notes")
worker = subprocess.Popen([trial.learn, "train", *TINY, "--epochs", "100000", "--name", "at-work"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not os.path.exists("runs/at-work/results.csv"):
    time.sleep(0.01)

every = trial.run("runs")
states = {line.split()[0]: line.split()[1] for line in every.out.splitlines() if len(line.split()) > 4}
for name, status in (("ten", "finished"), ("two", "finished"), ("killed", "gone"), ("broken", "damaged"), ("at-work", "running")):
    check(f"{name} is {status}", states.get(name) == status, every)
check("and neither links nor other folders are runs", not {"latest", "notes"} & states.keys(), every)
check("what is wrong is said", "broken: 'runs/broken/run.json' is no record of a run: this is not JSON" in every.out, every)
records = json.loads(trial.run("runs", "--json").out)
check("for a program all are there", len(records) == 5, records)
check("a wide terminal shows more", "size" in first_line(200) and "size" not in first_line(60), first_line(200))
check("a narrow one is not exceeded", len(first_line(80)) <= 80, first_line(80))
both = trial.run("runs", "ten", "two")
check("a comparison shows the rate", "  lr " in both.out and " * " in both.out + " ", both)
check("and no setting that is the same", "batch-size" not in both.out, both)
former = trial.run("runs", "runs/ten/former-1")
check("a former run is one, too", "runs/ten/former-1" in former.out and former.status == 0, former)

refused = trial.run("runs", "--remove", "two")
check("without a terminal nobody can be asked", refused.status == 2 and "add --yes" in refused.err, refused)
refused = trial.run("runs", "--remove", "two", "at-work", "--yes")
check("a run that is trained stays", refused.status == 2 and "a process is working" in refused.err, refused)
check("with those named beside it", os.path.exists("runs/two/run.json"), refused)
for answer in (b"n\n", b"\n", b"\x04", b"no\n"):
    shown, status = on_terminal(80, answer, "--remove", "two", "killed")
    check(f"{answer} removes nothing", status == 0 and "remove 2 runs" in shown and os.path.exists("runs/two"), shown)
shown, status = on_terminal(80, b"y\n", "--remove", "two", "killed")
check("yes removes", status == 0 and not os.path.exists("runs/two") and not os.path.exists("runs/killed"), shown)

worker.send_signal(signal.SIGINT)
worker.wait()
check("latest is what began last", os.readlink("runs/latest") == "at-work", os.listdir("runs"))
removed = trial.run("runs", "--remove", "last", "broken", "-y")
check("a run that has ended can be removed", removed.status == 0 and not os.path.exists("runs/at-work"), removed)
check("latest is what began last of those that are there", os.readlink("runs/latest") == "ten", os.listdir("runs"))
check("nothing else was touched", sorted(os.listdir("runs")) == ["latest", "notes", "ten"], os.listdir("runs"))
trial.conclude()
