#!/usr/bin/env python3
"""Tests the files of `learn report`, and what it refuses: report.py PATH/TO/learn.

report_page.py tests the page in a browser. Prints failures; exit status 1 then.
"""
import calendar
import csv
import fcntl
import html
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from png import write_png

LEARN = str(Path(sys.argv[1]).resolve())
TRAIN = ("train --data synthetic10 --train-limit 96 --valid-limit 40 --width 2 -b 16 -e 2 --threads 1 --workers 1 --no-plots "
         "--name t").split()
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {str(seen)[-3000:]}")


def learn(*words, status=0):
    done = subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(f"learn {' '.join(words)} is status {status}", done.returncode == status, done)
    return done


def refused(status, text, *words):
    done = learn(*words, status=status)
    check(f"learn {' '.join(words)} says '{text}'", text in done.stderr, done)


def cells(page, name):
    """Cells of the rows that start with a name."""
    rows = re.findall(rf'<tr[^>]*><th scope="row"[^>]*>{re.escape(name)}</th>(.*?)</tr>', page)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def short(value):
    return f"{float(value):.4f}"  # below 10


def one_run():
    done = learn(*TRAIN, "--precision", "fp16", "--inject", "overflow@3")
    check("a training says where its page is", "page  runs/t/report.html" in done.stdout, done)
    page = Path("runs/t/report.html").read_text()
    with open("runs/t/results.csv", encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    last = rows[-1]
    record = json.loads(Path("runs/t/run.json").read_text())
    check("the page has the last accuracy", cells(page, "last accuracy") == [[short(last["accuracy"])]], cells(page, "last accuracy"))
    first = page[:page.index('<section id="s2">')]
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", first))
    seconds = round(sum(float(row["time"]) for row in rows))
    check("and what is seen first", facts == {
        "best accuracy": short(record["best"]["value"]), "validation loss": short(last["valid_loss"]),
        "training loss": short(last["train_loss"]), "epochs": "2 of 2", "training time": f"{seconds // 60}:{seconds % 60:02}"}, facts)
    check("with the best epoch", f'<dd class="detail">epoch {record["best"]["epoch"]}</dd>' in page)
    told_once = ("best", "last train_loss", "last valid_loss", "epochs", "training time", "images per second", "started", "ended")
    check("which no row says again", all(cells(first, name) == [] for name in told_once), [cells(first, name) for name in told_once])
    head = page[page.index("<header>"):page.index("</header>")]
    check("the command, as it is typed, at the top", html.escape(f"learn {shlex.join(record['argv'])}") in head, head)
    begun, ended = (time.strftime("%Y-%m-%d %H:%M", time.localtime(calendar.timegm(time.strptime(record[at], "%Y-%m-%dT%H:%M:%SZ"))))
                    for at in ("started", "ended"))
    check("and the local time, as 'learn runs' has it", f"started {begun}, ended {ended}" in head
          and begun in learn("runs", "t").stdout, head)
    check("the machine", cells(page, "processor") == [[html.escape(record["machine"]["processor"])]], cells(page, "processor"))
    check("the step that was skipped", cells(page, "3") == [["overflow", "65536", "32768"]], cells(page, "3"))
    for option, value, default in (("width", "2", "0"), ("epochs", "2", "10"), ("batch-size", "16", "128"), ("seed", "42", "42"),
                                   ("precision", "fp16", "fp32"), ("train-limit", "96", "1.0"),
                                   ("lr", "0.01", "0.01")):
        check(f"--{option} next to its default", [value, default] in cells(page, option), cells(page, option))
    check("the highest rate of a step", cells(page, "peak learning rate") == [[f"{record['peak_lr']:.3g}"]]
          and 0.009 < record["peak_lr"] <= 0.01, (cells(page, "peak learning rate"), record["peak_lr"]))
    check("that images are computed", "are computed, not photographed" in page)
    check("layers in the training's precision", "f16" in "".join(sum(cells(page, "layer1.conv"), [])), cells(page, "layer1.conv"))
    check("a confusion matrix of all classes", page.count('<td class="right') == 10, page.count('<td class="right'))
    check("images of the largest loss and of the training", page.count("<img ") == 16 + 8 * 6, page.count("<img "))
    plain = learn("eval", "runs/t", "--threads", "1").stdout
    accuracy = re.search(r"accuracy ([\d.]+)", plain)[1]
    check("what eval measures", f"<dt>accuracy</dt><dd>{accuracy}</dd>" in page, accuracy)

    again = learn("report", "runs/t", "--out", "page.html", "--threads", "1")
    check("where it is", again.stdout == "-> page.html\n", again)
    check("report writes what the training wrote", Path("page.html").read_text() == page)
    learn("report", "last", "--no-evaluate", "--images", "0", "--out", "bare.html")
    bare = Path("bare.html").read_text()
    check("no images and no evaluation, if not asked for", "<img " not in bare and "Confusion matrix" not in bare)
    learn("report", "runs/t", "--top-losses", "0", "--images", "2", "--weights", "last", "--out", "few.html")
    few = Path("few.html").read_text()
    check("as many images as asked for", few.count("<img ") == 2 * 6 and "Largest losses" not in few, few.count("<img "))
    check("other weights", "last.safetensors on the 40 validation images" in few)


def several():
    learn(*TRAIN[:-1], "u", "--lr", "0.02", "--no-report")
    check("no page, if not wanted", not Path("runs/u/report.html").exists())
    learn("report", "runs/t", "runs/u", "--threads", "1")
    page = Path("report.html").read_text()
    check("both are named", "<title>runs/t, runs/u</title>" in page)
    check("what differs is side by side", cells(page, "lr") == [["0.01", "0.02"]], cells(page, "lr"))
    check("rows that are the same can be hidden", '<tr class="same"><th scope="row">epochs</th>' in page)
    check("each is measured", page.count('class="matrix"') == 2, page.count('class="matrix"'))
    shutil.copytree("runs/u", "runs/v")
    learn("report", "runs/u", "runs/v", "--no-evaluate", "--images", "0", "--out", "twice.html")
    page = Path("twice.html").read_text()
    check("layers that are the same are told once", page.count("Identical to runs/u.") == 1
          and len(cells(page, "layer1.conv")) == 1, cells(page, "layer1.conv"))
    check("each has its command", all(f"runs/{name}: learn train " in page[:page.index("</header>")] for name in "uv"))


def an_interrupted_run():
    worker = subprocess.Popen([LEARN, *TRAIN[:-1], "cut", "-e", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    while not Path("runs/cut/results.csv").exists():
        time.sleep(0.01)
    worker.send_signal(signal.SIGINT)
    said = worker.communicate(timeout=60)[0]
    check("an interrupt has its status", worker.returncode == 130, worker.returncode)
    check("and says where the page is", "page  runs/cut/report.html" in said and "next  learn train --resume runs/cut" in said, said)
    page = Path("runs/cut/report.html").read_text()
    check("which has curves and images", cells(page, "status") == [["interrupted: signal 2"]] and page.count("<img ") == 8 * 6
          and "Learning rate" in page, cells(page, "status"))
    check("but no measurement", "learn report runs/cut" in page and "Confusion matrix" not in page)
    learn("report", "runs/cut", "--threads", "1")
    page = Path("runs/cut/report.html").read_text()
    check("until it is asked for", "learn report runs/cut" not in page and "Confusion matrix" in page)


def without_data():
    for name, colour in (("blue", (20, 40, 220)), ("red", (220, 30, 20))):
        for i in range(20):
            write_png(Path("photos", name, f"{i}.png"), 32, 32, colour)
    learn("train", "--data", "photos", "--val-split", "0.2", "--model", "linear", "-e", "1", "-b", "8", "--threads", "1",
          "--name", "photos", "--no-report", "--no-plots")
    shutil.move("photos", "elsewhere")
    done = learn("report", "runs/photos")
    page = Path("runs/photos/report.html").read_text()
    check("a page without its data says so", "Left out: " in page and "photos" in page, page[:2000])
    check("and so does the terminal", "without the parts that need its data" in done.stderr, done)
    check("but has the rest", "Learning rate" in page and cells(page, "status") == [["finished"]])
    Path("photos").mkdir()
    shutil.move("elsewhere/blue", "photos/blau")
    shutil.move("elsewhere/red", "photos/red")
    learn("report", "runs/photos")
    check("classes of other names are not measured",
          "has different classes from those that the model was trained on" in Path("runs/photos/report.html").read_text())


def places():
    """Only files are replaced."""
    def write_to(path):
        return learn("report", "runs/t", "--no-evaluate", "--images", "0", "--out", path)

    os.mkfifo("fifo")
    reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    write_to("fifo")
    check("a FIFO is given the page", os.read(reader, 1 << 20).startswith(b"<!doctype html>"))
    check("and stays a FIFO", stat.S_ISFIFO(os.stat("fifo").st_mode))
    os.close(reader)
    done = write_to("/dev/stdout")
    check("/dev/stdout is written to", done.stdout.startswith("<!doctype html>"), done.stdout[:200])
    check("/dev/stdout stays a link", os.path.islink("/dev/stdout"))
    os.symlink("target.html", "link.html")
    write_to("link.html")
    check("a link stays", os.path.islink("link.html") and Path("target.html").read_text().startswith("<!doctype"))
    if os.geteuid() == 0:
        os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        write_to("null")
        check("a device stays", stat.S_ISCHR(os.stat("null").st_mode))
    for name in (".", "runs", "runs/"):
        refused(5, f"cannot write '{name}'", "report", "runs/t", "--out", name)
    check("nothing is left over", not [name for name in os.listdir() if ".tmp." in name], os.listdir())


def refusals():
    refused(2, "RUN|last", "report")
    os.symlink("runs/t", "link")
    for command in ("report", "runs", "plot"):
        refused(2, "'runs/t' is named twice", command, "runs/t", "runs/u", "runs/t")
        refused(2, "'runs/t' and './runs/t' are the same run", command, "runs/t", "./runs/t")
    refused(2, "'runs/t' is named twice", "plot", "runs/t", "link")
    refused(2, "'runs/t' is named twice", "runs", "t", "runs/t")
    refused(4, "no-run", "report", "no-run")
    refused(2, "--weights has no effect with --no-evaluate", "report", "runs/t", "--weights", "last", "--no-evaluate")
    for option, value in (("top-losses", "3"), ("batch-size", "8"), ("device", "cpu")):
        refused(2, f"--{option} has no effect with --no-evaluate", "report", "runs/t", f"--{option}", value,
                "--no-evaluate")
    refused(2, "--data-dir has no effect", "report", "runs/t", "--data-dir", "d", "--no-evaluate", "--images", "0")
    refused(5, "nowhere", "report", "runs/t", "--out", "nowhere/page.html", "--no-evaluate")
    refused(4, "epoch-0009", "report", "runs/t", "--weights", "epoch-0009")
    shutil.copytree("runs/t", "damaged")
    Path("damaged/run.json").write_text('{"status": 3')
    refused(3, "damaged/run.json", "report", "damaged")
    # The disk is full at the very end: the training has ended well all the same.
    shutil.rmtree("runs/t")
    os.mkdir("runs/t")
    done = learn(*TRAIN, "--exist-ok")
    check("a second run in a folder has its page", Path("runs/t/report.html").exists(), done)
    os.remove("runs/t/report.html")
    os.mkdir("runs/t/report.html")
    done = learn(*TRAIN, "--exist-ok")
    check("a page that cannot be written is a warning", "report.html' is not written" in done.stderr, done)


with tempfile.TemporaryDirectory(prefix="learn report ") as folder:
    os.chdir(folder)
    os.environ.pop("LEARN_DATA", None)
    one_run()
    several()
    an_interrupted_run()
    without_data()
    places()
    refusals()
    os.chdir("/")
print("FAILED" if failures else "reports: all as promised")
sys.exit(1 if failures else 0)
