"""Cases of ranks.py: commands other than `learn train` in several processes of mpirun."""

import os
import re
import signal
import time

import harness
from launches import IO_ERROR, LIMIT, RANKS, TINY, USAGE, Launch, named

SWEEP = ("--data synthetic10 --train-limit 96 --model mlp --batch-size 16 --workers 0 --no-winograd --start 1e-4 --end 1e-2 "
         "--iterations 20 --csv lr.csv --plot lr.png").split()


def swept(suite, folder, *apps, ranks=2, more=()):
    return Launch(suite, folder, *apps, ranks=ranks, words=[*SWEEP, *more], command="lr-find")


def lr_find(suite, folder):
    """Several processes find the curve of one. Each is in its own folder."""
    status, shown = suite.alone("lr-find", *SWEEP, cwd=folder)
    suite.check("lr-find alone", status == 0, shown)
    threads = int(re.search(r"cpu (\d+) threads", shown)[1])
    alone = harness.table_of(str(folder / "lr.csv"))
    for ranks in (2, 3):
        places = [{"folder": folder / f"{rank} of {ranks}"} for rank in range(ranks)]
        for place in places:
            place["folder"].mkdir()
        what = f"lr-find in {ranks} ranks"
        headline = f"{ranks} ranks on 1 host, each cpu {max(1, threads // ranks)} threads"
        _, output = suite.judge(what, swept(suite, folder, *places), 0, headline, "(?m)^next +learn train --lr", never=["error", "warning"])
        first = places[0]["folder"]
        written = sorted(file.name for place in places for file in place["folder"].iterdir())
        suite.check(f"{what}: rank 0 writes", written == ["lr.csv", "lr.png"] and (first / "lr.png").exists(), written)
        curve = harness.table_of(str(first / "lr.csv"))
        far = max(abs(float(a[key]) / float(b[key]) - 1) for a, b in zip(curve, alone) for key in ("lr", "loss", "smoothed"))
        suite.check(f"{what}: the curve of one process", len(curve) == len(alone) == 20 and far < 1e-5, f"{far}\n{output}")


def lr_find_fails(suite, folder):
    suite.judge("lr-find with other options on rank 1", swept(suite, folder, {}, {"words": [*SWEEP, "--end", "2"]}), RANKS,
                rf"error: {named('.')}: {named(1)} has other options.*'end = 2' there")
    (folder / "file").write_text("")
    suite.judge("lr-find whose file cannot be written", swept(suite, folder, more=["--csv", "file/lr.csv"]), IO_ERROR,
                rf"error: {named(0)}: .*'file")
    suite.judge("lr-find with a wrong file on all ranks", swept(suite, folder, more=["--plot", "lr.txt"]), USAGE, "error: .*lr.txt")


def lr_find_signalled(suite, folder):
    """The ranks sleep in a batch, so that the signal comes there."""
    launch = swept(suite, folder, more=["--inject", "slow@10:2s"])
    end = time.monotonic() + LIMIT
    while "ranks on" not in launch.text() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)  # the first batches
    os.kill(launch.pids()[1], signal.SIGTERM)
    suite.judge("lr-find, SIGTERM to rank 1 only", launch, 143, "It ended as it was interrupted", "the sweep was interrupted", never=["error:"])


def files_in(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.name not in ("output", "rank.sh"))


def for_one_process(suite, folder):
    """Words that one process accepts."""
    status, shown = suite.alone("train", *TINY, "--epochs", "1", cwd=folder)
    suite.check("a run to use", status == 0, shown)
    (folder / "image.ppm").write_bytes(b"P6 32 32 255\n" + bytes(32 * 32 * 3))
    before = files_in(folder)
    for command, words in {"eval": ["runs/train", "--predictions", "out.csv"], "predict": ["runs/train", "image.ppm"],
                           "export": ["runs/train", "out.onnx"]}.items():
        launch = Launch(suite, folder, words=words, command=command)
        launch.run = folder / "none"
        suite.judge(f"{command} in 2 ranks", launch, USAGE, rf"error: {named('.')}: learn {command} is for one process: run it without the launcher")
        suite.check(f"{command} in 2 ranks writes nothing", files_in(folder) == before, files_in(folder))
        launch = Launch(suite, folder, ranks=1, words=words, command=command)
        launch.run = folder / "none"
        suite.judge(f"{command} in 1 rank", launch, 0, never=["error:"])
        before = files_in(folder)


def copies(suite, folder):
    launch = Launch(suite, folder, words=["--seconds", "0"], command="doctor")
    suite.judge("doctor in 2 ranks", launch, 0, "as rank 0 of 2", "as rank 1 of 2", never=["error:"])
    launch = Launch(suite, folder, words=["--help"], command="eval")
    _, output = suite.judge("help in 2 ranks", launch, 0, never=["error:"])
    suite.check("help in 2 ranks: printed by both", len(re.findall("Usage: learn eval", output)) == 2, output)


COMMAND_CASES = [lr_find, lr_find_fails, lr_find_signalled, for_one_process, copies]
