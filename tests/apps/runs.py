#!/usr/bin/env python3
"""runs.py PATH/TO/learn: `learn runs` on runs that were trained, killed and damaged, and what is removed by it, with and without
a terminal."""
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

from harness import TINY, Trial, record_of, shown_at

trial = Trial(__doc__)


def check(what, condition, outcome):
    trial.check(condition, what, outcome)


def on_terminal(columns, answer, *words):
    """Returns the output of `learn runs` on a terminal of this width, with the input `answer`, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([trial.learn, "runs", *words], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.write(master, answer)
    return shown_at(master).replace("\r", ""), process.wait()


def table_of(name):
    """Without times."""
    with open(f"runs/{name}/results.csv", encoding="utf-8") as file:
        return [line.split(",")[:1] + line.split(",")[2:-1] for line in file]


def first_line(columns):
    shown, _ = on_terminal(columns, b"", "--status", "finished")
    return next(line for line in shown.splitlines() if line.startswith("name"))


none = trial.run("runs")
check("without runs there is advice", none.status == 0 and "'learn train' creates runs" in none.out, none)

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
check("what is wrong is said", "broken: 'runs/broken/run.json' is not a valid record of a run: this is not JSON" in every.out, every)
records = json.loads(trial.run("runs", "--json").out)
check("for a program all are there", len(records) == 5, records)
check("a wide terminal shows more", "size" in first_line(200) and "size" not in first_line(60), first_line(200))
check("a narrow one is not exceeded", len(first_line(80)) <= 80, first_line(80))
both = trial.run("runs", "ten", "two")
check("a comparison shows the rate", "  lr " in both.out and " * " in both.out + " ", both)
check("and no setting that is the same", "batch-size" not in both.out, both)
former = trial.run("runs", "runs/ten/former-1")
check("a former run is one, too", "runs/ten/former-1" in former.out and former.status == 0, former)

with open("runs/ten/config.toml", encoding="utf-8") as file:
    config = file.read()
for line in ("lr = [0.01]  # default", "warmup = 0.25  # default", 'momentum = "schedule"  # default', "weight-decay = 0.01  # default",
             'loss = "cross_entropy"  # default', 'metrics = ["accuracy"]  # default', 'monitor = "accuracy"  # default'):
    check(f"the configuration says {line}", f"\n{line}\n" in config, config)
shown = trial.run("runs", "ten")
check("a run shows its rate, and that it is the default", re.search(r"^  lr +0\.01 \(default\)$", shown.out, re.MULTILINE), shown)
peak = max(json.loads(line)["lr"] for line in open("runs/ten/metrics.jsonl", encoding="utf-8") if '"batch"' in line)
check("and its peak", re.search(rf"^peak learning rate +{peak:.3g}$", shown.out, re.MULTILINE), (peak, shown))
check("as does its record", abs(record_of("runs/ten")["peak_lr"] - peak) < 1e-9, record_of("runs/ten"))
trial.run("train", *TINY, "--name", "same", "--lr", "0.01", "--config", "runs/ten/config.toml")
same = trial.run("runs", "ten", "same")
check("a rate that is equal does not differ", "  lr " not in same.out and "  name " in same.out, same)
check("and a configuration reproduces its run", table_of("ten") == table_of("same"), (table_of("ten"), table_of("same")))
settings = json.loads(trial.run("runs", "ten", "same", "--json").out)
check("a program sees which are defaults", [("lr" in run["defaults"], run["settings"]["lr"]) for run in settings] ==
      [(True, "0.01"), (False, "0.01")], settings)
trial.run("runs", "--remove", "same", "--yes")

# A run by its name, in each command, next to other folders of that name.
os.makedirs("two/train/cat")
for words in (["eval", "two"], ["plot", "two", "ten", "--out", "p.svg"], ["report", "two", "--out", "p.html", "--no-evaluate", "--images", "0"],
              ["export", "two", "p.onnx"], ["average", "two", "ten", "--out", "mean.safetensors"], ["runs", "two"],
              ["train", "--resume", "two"], ["train", *TINY, "--pretrained", "two", "--fast-dev-run"]):
    done = trial.run(*words)
    check(f"learn {' '.join(words[:3])} finds runs/two", done.status == 0, done)
for what, there, not_there in (("results", "accuracy", "Momentum"), ("schedule", "Momentum", "accuracy")):
    trial.run("plot", "two", "ten", "--what", what, "--out", "of.svg")
    with open("of.svg", encoding="utf-8") as svg:
        text = svg.read()
    check(f"plot --what {what} draws that of both runs", there in text and not_there not in text and "runs/two, runs/ten" in text, text[:900])
for words in (["eval", "twoo"], ["predict", "twoo", "x.png"], ["train", "--resume", "twoo"], ["plot", "twoo"],
              ["train", *TINY, "--pretrained", "twoo", "--fast-dev-run"]):
    done = trial.run(*words)
    check(f"learn {' '.join(words[:3])} says what may be meant", done.status == 4 and
          "no run 'twoo' in 'runs', and no such path; did you mean 'two'?" in done.err, done)
done = trial.run("eval", "two", "--out", "elsewhere")
check("--out is where a name is looked for", done.status == 4 and "no run 'two' in 'elsewhere'" in done.err, done)
done = trial.run("eval", "runs/two", "--out", "runs")
check("and of a path it has no effect", done.status == 2 and "--out runs has no effect: 'runs/two' is a path" in done.err, done)
done = trial.run("eval", "mean.safetensors", "--out", "runs")
check("nor of a file", done.status == 2 and "'mean.safetensors' is a path" in done.err, done)
done = trial.run("train", "--resume", "mean.safetensors")
check("a file is not resumed", done.status == 4 and "'mean.safetensors' is not the folder of a run" in done.err, done)
for name in ("two", "p.svg", "p.html", "p.onnx", "mean.safetensors"):
    shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)

refused = trial.run("runs", "--remove", "two")
check("without a terminal nobody can be asked", refused.status == 2 and "add --yes" in refused.err, refused)
refused = trial.run("runs", "--remove", "two", "at-work", "--yes")
check("a run that is trained stays", refused.status == 2 and "a process is working" in refused.err, refused)
check("with those named beside it", os.path.exists("runs/two/run.json"), refused)
for answer in (b"n\n", b"\n", b"\x04", b"no\n"):
    shown, status = on_terminal(80, answer, "--remove", "two", "killed")
    check(f"{answer} removes nothing", status == 0 and "remove 2 runs" in shown and os.path.exists("runs/two"), (status, shown))
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
