#!/usr/bin/env python3
"""refusals.py PATH/TO/learn: what is refused for one of several reasons is refused for each of them alone."""
import json
import os
import struct
from pathlib import Path

from harness import TINY, Trial
from png import write_png

trial = Trial(__doc__)


def refused(status, text, *words):
    outcome = trial.run(*words)
    trial.check(outcome.status == status and text in outcome.err and ".cpp:" not in outcome.err,
                f"learn {' '.join(words)} has status {status} and says '{text}'", outcome)


def taken(*words):
    outcome = trial.run(*words)
    trial.check(outcome.status == 0, f"learn {' '.join(words)} is taken", outcome)
    return outcome


def checkpoint(path):
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def write_checkpoint(path, header, payload):
    """Without the hash of what it was."""
    said = {key: value for key, value in header["__metadata__"].items() if key not in ("learn.sha256", "learn.format", "learn.payload_sha256")}
    text = json.dumps(header | {"__metadata__": said}).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + payload)


def runs_and_files():
    for command, rest in (("eval", []), ("predict", ["x.png"]), ("export", ["x.onnx"])):
        refused(2, "--out there has no effect: 'runs/a' is a path", command, "runs/a", *rest, "--out", "there")
    for one in ("csv", "json", "wide"):
        refused(2, f"--remove shows no table: leave out --{one}", "runs", "--remove", "a", f"--{one}")
    for command, rest in (("runs", []), ("predict", ["runs/a", "x.png"])):
        refused(2, "--csv and --json: one of them", command, *rest, "--csv", "--json")
    for one in ("csv", "json"):
        refused(2, f"--wide is for the table; --{one} always prints everything", "runs", "--wide", f"--{one}")
    for one in (["--sort", "name"], ["--reverse"], ["--status", "gone"]):
        refused(2, f"{one[0]} is for the list of all runs: omit 'a'", "runs", "a", *one)
    refused(2, "--remove: name the runs to remove", "runs", "--remove")
    refused(2, "--yes has no effect without --remove", "runs", "a", "--yes")
    for one in (["--normalize"], ["--softmax"], ["--sigmoid"]):
        refused(2, "is for ONNX", "export", "runs/a", "x.safetensors", *one)
    for name in ("x.pt", "x", "onnx"):
        refused(2, f"'{name}'", "export", "runs/a", name)
    for one in (["--precision", "fp16"], ["--keep-fp32", "x"]):
        refused(2, "--precision and --keep-fp32 need the NAME of the model", "models", *one)
    refused(2, "--out pages writes all pages: omit 'train'", "man", "train", "--out", "pages")
    refused(2, "--smallest 65: there are only 64 training images", "batch-size-find", *TINY[:3], "64", "--model", "linear", "--smallest", "65")
    refused(2, "sizes from 8 to 4", "batch-size-find", *TINY[:4], "--model", "linear", "--smallest", "8", "--largest", "4")
    small = trial.run("batch-size-find", *TINY[:2], "--train-limit", "2000", "--model", "linear", "--smallest", "1024",
                      env={**os.environ, "LEARN_MEM_LIMIT": "4M"})
    trial.check(small.status == 6 and "error: a batch of 1024 does not fit in memory" in small.err, "a batch that does not fit", small)
    refused(2, "rates from 1 to 0.5", "lr-find", *TINY[:4], "--model", "linear", "--start", "1", "--end", "0.5")
    refused(2, "rates from 0.5 to 0.5", "lr-find", *TINY[:4], "--model", "linear", "--start", "0.5", "--end", "0.5")


def trainings():
    trials = ("--dry-run", "--fast-dev-run", "--params", "--print-config", "--explain")
    for i, one in enumerate(trials):
        refused(2, f"--exist-ok has no effect with {one}: it writes nothing", "train", *TINY, "--exist-ok", one)
        for other in trials[i + 1:]:
            refused(2, f"{one} and {other} cannot be combined", "train", *TINY, one, other)
    for one in ("--exist-ok", "--dry-run", "--fast-dev-run", "--params"):
        refused(2, "--resume cannot go with", "train", "--resume", "runs/a", one)
    refused(2, "--extend 2 has no effect without --resume RUN", "train", *TINY, "--extend", "2")
    refused(2, "--out there has no effect: the run to resume is 'runs/a'", "train", "--resume", "runs/a", "--out", "there")
    refused(2, "--prefetch 3 has no effect with --workers 0", "train", *TINY, "--prefetch", "3")
    refused(2, "--no-train-bn has no effect without --freeze", "train", *TINY, "--no-train-bn")
    for precision in ("fp32", "bf16", "tf32", "pure-fp16"):
        refused(2, "--loss-scale needs --precision fp16 or fp16-amp", "train", *TINY, "--precision", precision, "--loss-scale", "8")
    for precision in ("fp32", "tf32"):
        refused(2, f"--keep-fp32 has no effect with --precision {precision}", "train", *TINY, "--precision", precision, "--keep-fp32", "fc")
    refused(2, "--opt-level O2 means --precision fp16, but --precision bf16 is given", "train", *TINY, "--opt-level", "O2", "--precision", "bf16")
    for one in (["--loss-scale", "8"], ["--no-flat-master"]):
        refused(2, "--loss-scale and --flat-master have no effect with --callbacks mixed_precision", "train", *TINY,
                "--precision", "fp16", "--callbacks", "mixed_precision", *one)
    refused(2, "give all faults in one place", "train", *TINY, "--inject", "slow@1:0s", "--callbacks", "inject:faults=(slow@2:0s)")
    refused(2, "--save-every 2 has no effect with --callbacks checkpointer", "train", *TINY, "--callbacks", "checkpointer")


def data_sets():
    for i in range(6):
        write_png(Path("shots", f"{i}.png"), 8, 8, (40 * i, 10, 200))
    for name in ("..", ".", ".hidden", "a/b", "/a", "a/"):
        Path("names.csv").write_text("file,label\n" + "".join(f"shots/{i}.png,{name if i % 2 else 'plain'}\n" for i in range(6)))
        refused(3, f"the class '{name}' of 'names' cannot be the name of a folder", "data", "make", "names.csv", "made", "--val-split", "0.5")
        trial.check(not Path("made").exists(), f"nothing is written for a class '{name}'")
    Path("names.csv").write_text("file,label\n" + "".join(f"shots/{i}.png,{'a..b' if i % 2 else 'c.'}\n" for i in range(6)))
    taken("data", "make", "names.csv", "made", "--val-split", "0.5")
    trial.check(Path("made/train/a..b").is_dir() and Path("made/valid/c.").is_dir(), "dots elsewhere in a name are no harm")
    refused(2, "'made' exists and is not empty", "data", "make", "names.csv", "made", "--val-split", "0.5")
    Path("empty").mkdir()
    taken("data", "make", "names.csv", "empty", "--val-split", "0.5")
    refused(2, "add the folder to write after 'names.csv'", "data", "make", "names.csv")
    for action in ("info", "verify", "show"):
        refused(2, f"learn data {action}: 'there' has no effect after 'names.csv'", "data", action, "names.csv", "there")
    refused(2, "targets are numbers to predict, label and label_delim are for labels", "data", "info", "names.csv:targets=label,label=label")
    refused(2, "targets are numbers to predict, label and label_delim are for labels", "data", "info", "names.csv:targets=label,label_delim=;")
    # Features have no mirror image.
    refused(2, "--predictions all: the name must end in .csv or .json", "eval", "runs/a", "--predictions", "all")
    for more in (["--data", "synthetic10", "--set", "train"], ["--set", "train", "--data", "shots"]):
        refused(2, "--set train has no effect on --data", "eval", "runs/a", *more)


def averages():
    """Checkpoints that differ in one value of their metadata."""
    header, payload = checkpoint("runs/a/weights/best.safetensors")
    write_checkpoint("same.safetensors", header, payload)
    taken("average", "runs/a", "same.safetensors", "--out", "mean.safetensors")
    said = header["__metadata__"]
    others = {"learn.model": "mlp", "learn.targets": "labels", "learn.classes": said["learn.classes"].replace("disk", "disc"),
              "learn.input": "3 16 16", "learn.normalization": "0.5 0.5 0.5 0.25 0.25 0.25"}
    for key, value in others.items():
        trial.check(said.get(key) != value, f"{key} is another one", said.get(key))
        write_checkpoint("other.safetensors", header | {"__metadata__": said | {key: value}}, payload)
        for first, second in (("runs/a", "other.safetensors"), ("other.safetensors", "runs/a")):
            refused(4, f"cannot be averaged: '{key}' is '", "average", first, second, "--out", "no.safetensors")
        refused(4, f"'{key}'", "average", "runs/a", "same.safetensors", "other.safetensors", "--out", "no.safetensors")
    trial.check(not Path("no.safetensors").exists(), "nothing is written for those")


def predictions_that_are_none():
    """One that is NaN, and a loss that is infinite though no prediction is NaN."""
    for i in range(8):
        write_png(Path("set", f"{i}.png"), 8, 8, (20 * i, 10, 200))
    Path("set/v.csv").write_text("file,x,split\n" + "".join(f"{i}.png,{i},{'valid' if i % 2 else 'train'}\n" for i in range(8)))
    taken("train", "--data", "set/v.csv:targets=x", "--model", "linear", "-b", "4", "-e", "1", "--threads", "1", "--no-plots", "--no-report", "--name", "v")
    header, payload = checkpoint("runs/v/weights/best.safetensors")
    for what, value, undecided, loss in (("NaN", float("nan"), 4, "nan"), ("infinite loss", 1e30, 0, "inf")):
        write_checkpoint("bad.safetensors", header, struct.pack("<f", value) * (len(payload) // 4))
        refused(7, f"the loss is {loss}, and {undecided} of 4 images have a NaN in their predictions", "eval", "bad.safetensors")
        outcome = trial.run("eval", "bad.safetensors", "--json", "--top-losses", "1")
        said = json.loads(outcome.out)
        trial.check(outcome.status == 7 and said["loss"] is None and said["undecided"] == undecided and "-nan" not in outcome.out + outcome.err
                    and said["top_losses"][0]["loss"] is None, f"{what}: JSON has null, and the status", outcome)
    header, payload = checkpoint("runs/a/weights/best.safetensors")
    write_checkpoint("bad.safetensors", header, struct.pack("<f", float("nan")) * (len(payload) // 4))
    for more in ([], ["--tta", "mirror"]):
        outcome = trial.run("eval", "bad.safetensors", "--json", "--confusion", *more)
        said = json.loads(outcome.out)
        trial.check(outcome.status == 7 and said["loss"] is None and said["undecided"] == said["samples"] == 32 and said["accuracy"] == 0
                    and said["calibration"] == {"ece": None, "largest_gap": None, "brier": None} and sum(map(sum, said["confusion"])) == 0,
                    f"classes of NaN {more}", outcome)


def endings():
    """The advice after a divergence depends on the options of the training."""
    wild = ["train", *TINY, "--lr", "1e30", "--optimizer", "sgd", "--schedule", "const", "--no-report"]
    for more, advice in (([], "try a lower --lr or --clip-norm 1\n"), (["--clip-norm", "1"], "try a lower --lr or a --clip-norm below 1\n"),
                         (["--callbacks", "gradient_clip:limit=0.5"], "try a lower --lr or a --clip-norm below 0.5\n")):
        refused(7, advice, *wild, *more, "--name", f"wild{len(more)}{more[-1] if more else ''}")
    dry = trial.run("train", *TINY[:8], "--threads", "1", "--workers", "0", "--lr", "1e30", "--optimizer", "sgd", "--schedule", "const", "--dry-run")
    trial.check("-nan" not in dry.out + dry.err, "a dry run shows no sign of NaN", dry)


taken("train", *TINY, "--name", "a", "--no-report")
runs_and_files()
trainings()
data_sets()
averages()
predictions_that_are_none()
endings()
trial.conclude()
