#!/usr/bin/env python3
"""Tests that every option of every command has an effect: options_walk.py PATH/TO/learn [--entries].

The options are read from the program's output (`--help-all`, `learn options`). An option without an entry here gets a few values
(`guesses`), and fails if none of them changes anything. For each case the command runs with the option and without it, and its
files and output are compared, except times, the written configuration and the words of the call. An option without an effect
fails, unless its entry gives a reason; then nothing may differ. Prints failures; exit status 1 then. --entries only checks that
there is an entry for each option, and an option for each entry.
"""
import functools
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import callback_options
import data_options
import drawing_options
import find_options
from harness import shown_at
from observation import seen
from option_case import Case, HALF, LABELS, SPEED, TRAIN, spec
from predict_options import EXPORT_CASES, PREDICT
from png import write_png
from runs_options import RUNS

LEARN = str(Path(sys.argv[1]).resolve())


def told(*words):
    return subprocess.run([LEARN, *words], capture_output=True, text=True, check=True).stdout


def options_of_names():
    """(kind and name, option) for each that `learn options` shows."""
    found, kind, name = set(), "", ""
    for line in told("options").splitlines():
        if match := re.match(r"(\w+):", line):
            kind = match[1]
        elif match := re.match(r"  ([\w-]+)", line):
            name = match[1]
        elif match := re.match(r"    (\w+)=", line):
            found.add((f"{kind} {name}", match[1]))
    return found


NAMED = options_of_names()


def train(with_option, *more, **how):
    return Case([*TRAIN, *more], with_option.split(" "), **how)


ALONE = "one process has no other ranks; ranks.py and the tests of DataParallel have several"
FOLDER = ["--data", "{images}"]
VALUES = ["--data", "{table}:targets=x"]
SPLIT_FOLDER = [*FOLDER, "--val-split", "0.2"]

CASES = {
    "train": {
        "data": train("--data synthetic10-hard"),
        "data-dir": Case(["train", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
        "classes": train("--classes light,dark", *SPLIT_FOLDER),
        "val-split": train("--val-split 0.5", *SPLIT_FOLDER),
        "train-limit": train("--train-limit 32"),
        "valid-limit": train("--valid-limit 30"),
        "image-size": train("--image-size 16", *FOLDER),
        "normalize": train("--normalize cifar10"),
        "sampling": train("--sampling balanced"),
        "drop-last": train("--drop-last", "-b", "27"),
        "workers": train("--workers 0", same=SPEED),
        "prefetch": train("--prefetch 5", same=SPEED),
        "model": train("--model darknet"),
        "width": train("--width 3"),
        "dropout": train("--dropout 0.5", "--model", "mlp"),
        "pretrained": train("--pretrained runs/t", "--name", "u", before=TRAIN),
        "split": train("--split layer2 --freeze 1", "--freeze", "1"),
        "freeze": train("--freeze body"),
        "train-bn": train("--no-train-bn", "--freeze", "body"),
        "epochs": train("--epochs 3"),
        "fine-tune": train("--pretrained runs/t --fine-tune 1", "--pretrained", "runs/t", "--name", "u", before=TRAIN),
        "batch-size": train("--batch-size 12"),
        "accumulate": train("--accumulate 2"),
        "lr": train("--lr 0.003"),
        "schedule": train("--schedule linear"),
        "warmup": train("--warmup 0.5"),
        "optimizer": train("--optimizer sgd"),
        "momentum": train("--momentum 0.5"),
        "weight-decay": train("--weight-decay 0.3"),
        "clip-norm": train("--clip-norm 0.01"),
        "augment": train("--augment none"),
        "loss": train("--loss l1", *VALUES),
        "class-weights": train("--class-weights 1,1,1,1,1,1,1,1,1,9"),
        "label-smoothing": train("--label-smoothing 0.2"),
        "mixup": train("--mixup 0.4"),
        "cutmix": train("--cutmix 1"),
        "ema": train("--ema 0.5"),
        "metrics": train("--metrics accuracy,f1"),
        "train-metrics": train("--train-metrics"),
        "precision": train("--precision bf16"),
        "opt-level": train("--opt-level O3"),
        "keep-fp32": train("--keep-fp32 Linear", *HALF),
        "flat-master": train("--no-flat-master", same=SPEED),
        "loss-scale": train("--loss-scale 64", "--precision", "fp16"),
        "device": train("--device cuda"),
        "cuda-graph": train("--cuda-graph"),
        "deterministic": train("--no-deterministic"),
        "tune": train("--tune"),
        "plan-cache": train("--plan-cache plans"),
        "winograd": train("--no-winograd", "--width", "16"),
        "threads": train("--threads 2"),
        "sync-bn": train("--sync-bn", same=ALONE),
        "bucket": train("--bucket 1", same=ALONE),
        "wire": train("--wire half", same=ALONE),
        "rank-timeout": train("--rank-timeout 60", same=ALONE),
        "rank-logs": train("--rank-logs", same=ALONE),
        "seed": train("--seed 7"),
        "out": train("--out there"),
        "name": train("--name other"),
        "save-every": train("--save-every 1"),
        "monitor": train("--monitor valid_loss"),
        "patience": train("--patience 1", "-e", "6", "--lr", "0.9", "--schedule", "const"),
        "shrink-batch": train("--no-shrink-batch", same="memory does not run out; limits.py has a training where it does"),
        "nan": train("--nan rollback", "--lr", "1e30"),
        "inject": train("--inject nan@2:layer1.conv", *HALF),
        "callbacks": train("--callbacks terminate_on_nan;gradient_clip:limit=0.01"),
        "plots": train("--plots"),
        "report": train("--report"),
        "progress": train("--no-progress", "--train-limit", "800", terminal=True),
        "config": train("--config {config}"),
        "preset": Case(["train", "--print-config"], ["--preset", "quick"]),
        "resume": train("--resume last", before=TRAIN),
        "extend": Case(["train", "--resume", "last"], ["--extend", "2"], before=TRAIN),
        "exist-ok": train("--exist-ok", before=TRAIN),
        "dry-run": train("--dry-run"),
        "fast-dev-run": train("--fast-dev-run"),
        "params": train("--params"),
        "print-config": train("--print-config"),
        "explain": train("--explain"),
    },
    "predict": PREDICT,
    "runs": RUNS,
    "eval": {
        "weights": Case(["eval", "runs/t"], ["--weights", "last"], before=TRAIN),
        "out": Case(["eval", "last"], ["--out", "there"], before=TRAIN),
        "data": Case(["eval", "last"], ["--data", "synthetic10-hard"], before=TRAIN),
        "data-dir": Case(["eval", "last", "--data", "cifar10"], ["--data-dir", "there"], before=TRAIN),
        "valid-limit": Case(["eval", "last"], ["--valid-limit", "7"], before=TRAIN),
        "batch-size": Case(["eval", "last"], ["--batch-size", "7"], before=TRAIN, same=SPEED),
        "workers": Case(["eval", "last"], ["--workers", "0"], before=TRAIN, same=SPEED),
        "precision": Case(["eval", "last"], ["--precision", "tf32"], before=TRAIN),
        "device": Case(["eval", "last"], ["--device", "cuda"], before=TRAIN),
        "deterministic": Case(["eval", "last"], ["--no-deterministic"], before=TRAIN),
        "tune": Case(["eval", "last"], ["--tune"], before=TRAIN),
        "plan-cache": Case(["eval", "last"], ["--plan-cache", "plans"], before=TRAIN),
        "winograd": Case(["eval", "last"], ["--no-winograd"], before=[*TRAIN, "--width", "16"], hidden=True),
        "threads": Case(["eval", "last"], ["--threads", "2"], before=TRAIN, same=SPEED),
        "set": Case(["eval", "last"], ["--set", "train"], before=TRAIN),
        "metrics": Case(["eval", "last"], ["--metrics", "kappa"], before=TRAIN),
        "json": Case(["eval", "last"], ["--json"], before=TRAIN),
        "tta": Case(["eval", "last"], ["--tta", "mirror"], before=TRAIN),
        "confusion": Case(["eval", "last"], ["--confusion"], before=TRAIN),
        "threshold": Case(["eval", "last"], ["--threshold", "0"], before=LABELS),
        "top-losses": Case(["eval", "last"], ["--top-losses", "3"], before=TRAIN),
        "predictions": Case(["eval", "last"], ["--predictions", "all.csv"], before=TRAIN),
        "save": Case(["eval", "last"], ["--save", "errors"], before=TRAIN),
    },
    "models": {
        "classes": Case(["models"], ["--classes", "77"]),
        "image-size": Case(["models", "small"], ["--image-size", "64"]),
        "width": Case(["models", "small"], ["--width", "3"]),
        "precision": Case(["models", "small"], ["--precision", "bf16-amp"]),
        "opt-level": Case(["models", "small"], ["--opt-level", "O2"]),
        "keep-fp32": Case(["models", "small", "--precision", "fp16"], ["--keep-fp32", "Linear"]),
    },
    "options": {},
    "help": {},
    "completion": {},
    "man": {"out": Case(["man"], ["--out", "share"])},
    "autocast": {},
    "doctor": {
        "data-dir": Case(["doctor", "--seconds", "0"], ["--data-dir", "{cifar}"]),
        "threads": Case(["doctor", "--seconds", "0.01", "--threads", "2"], ["--threads", "1"]),
        "seconds": Case(["doctor", "--seconds", "0"], ["--seconds", "0.01"]),
    },
    # Options of all commands.
    "": {
        "help-all": Case(["train", "--help"], ["--help-all"]),
        "version": Case([], ["--version"]),
        "quiet": Case(["train", "--fast-dev-run", "--tune", *TRAIN[1:]], ["--quiet"]),
        "verbose": train("--verbose", "--precision", "fp16"),
    },
}

# `learn audit` takes options of `learn train`, and tells more digits in its file than on the screen.
AUDIT = ("audit --data synthetic10 --train-limit 48 --width 2 -b 16 --threads 1 --workers 1 --steps 2 "
         "--save audit.csv").split()
AUDITED = ("data classes val-split train-limit image-size normalize sampling drop-last workers prefetch model width dropout pretrained split "
           "freeze train-bn epochs batch-size accumulate lr schedule warmup optimizer momentum weight-decay clip-norm augment "
           "mixup cutmix loss class-weights label-smoothing precision opt-level keep-fp32 flat-master loss-scale device cuda-graph deterministic tune "
           "plan-cache winograd threads seed callbacks inject config").split()


def audit(case):
    return Case([*AUDIT, *case.command[len(TRAIN):]], case.with_option, case.same, case.hidden, case.before)


CASES["audit"] = {name: audit(CASES["train"][name]) for name in AUDITED} | {
    "data-dir": Case(["audit", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
    "pretrained": Case(AUDIT, ["--pretrained", "runs/t"], before=TRAIN),
    "fine-tune": Case([*AUDIT, "--pretrained", "runs/t"], ["--fine-tune", "1"], before=TRAIN),
    "split": Case([*AUDIT, "--freeze", "1"], ["--split", "layer3", "--freeze", "1"]),
    "preset": Case(AUDIT, ["--preset", "quick"]),
    "steps": Case(AUDIT, ["--steps", "3"]),
    "save": Case(AUDIT, ["--save", "there.csv"]),
}

CASES |= {"data": data_options.COMMAND} | drawing_options.CASES | EXPORT_CASES | find_options.cases(CASES["train"], AUDITED)


# By kind and name, then by option.
SETTINGS = {
    **callback_options.SETTINGS,
    "data cifar10": {"verify": Case([*TRAIN, "--data", "cifar10", "--data-dir", "{cifar}"],
                                    ["--data", "cifar10:verify=false"])},
    "data cifar100": {"verify": Case([*TRAIN, "--data", "cifar100", "--data-dir", "{cifar}"],
                                     ["--data", "cifar100:verify=false"])},
    "data folder": {
        "path": Case([*TRAIN, "--data", "folder:path={images}"], ["--data", "folder:path={more_images}"]),
        "size": Case([*TRAIN, *FOLDER], ["--data", "{images}:size=16"]),
        "max_bad": Case([*TRAIN, "--data", "{damaged}"], ["--data", "{damaged}:max_bad=0.5"]),
        # The fingerprint is one of files, not of pixels.
        "stream": Case([*TRAIN, "--data", "{images}:size=16"], ["--data", "{images}:size=16,stream=true"]),
        "cache": Case([*TRAIN, "--data", "{images}:size=16,stream=true"], ["--data", "{images}:size=16,stream=true,cache=0"],
                      same=SPEED),
        "verify": Case([*TRAIN, "--data", "{cifar}/cifar-10-batches-bin"],
                       ["--data", "{cifar}/cifar-10-batches-bin:verify=false"]),
    },
    "loss cross_entropy": {"label_smoothing": spec("--loss", "cross_entropy:label_smoothing=0.2")},
    "loss focal": {
        "gamma": spec("--loss", "focal:gamma=0", *LABELS[len(TRAIN):]),
        "alpha": spec("--loss", "focal:alpha=0.75", *LABELS[len(TRAIN):]),
    },
    "loss huber": {"delta": spec("--loss", "huber:delta=0.1", *VALUES)},
    "loss smooth_l1": {"beta": spec("--loss", "smooth_l1:beta=0.1", *VALUES)},
    "metric ece": {"bins": Case([*TRAIN, "--metrics", "accuracy,ece"], ["--metrics", "accuracy,ece:bins=2"])},
    **{f"metric {name}": {"threshold": Case(["eval", "last", "--metrics", name], ["--metrics", f"{name}:threshold=0"], before=LABELS)}
       for name in ("accuracy_multi", "precision_multi", "recall_multi", "f1_multi")},
    **{f"metric {name}": {"class": Case([*TRAIN, "--metrics", f"accuracy,{name}"], ["--metrics", f"accuracy,{name}:class=1"])}
       for name in ("precision", "recall", "f1")},
    "metric top_k": {"k": Case([*TRAIN, "--metrics", "accuracy,top_k"], ["--metrics", "accuracy,top_k:k=2"])},
    "model darknet": {
        "weight_norm": Case([*TRAIN, "--width", "1", "--model", "darknet"], ["--model", "darknet:weight_norm=true"]),
    },
    "model mlp": {
        "dropout": spec("--model", "mlp:dropout=0.5"),
        "weight_norm": spec("--model", "mlp:weight_norm=true"),
    },
    "model mobilenet_v2": {
        "dropout": Case([*TRAIN, "--width", "1", "--model", "mobilenet_v2"], ["--model", "mobilenet_v2:dropout=0.5"]),
        "stem": Case([*TRAIN, "--width", "1", "--model", "mobilenet_v2"], ["--model", "mobilenet_v2:stem=imagenet"]),
    },
    **{f"model {name}": {"stem": Case([*TRAIN, "--width", "1", "--model", name], ["--model", f"{name}:stem=imagenet"])}
       for name in ("resnet18", "resnet34", "resnet50")},
    "model wrn_22": {"dropout": Case([*TRAIN, "--width", "1", "--model", "wrn_22"], ["--model", "wrn_22:dropout=0.5"])},
}
# Values of an option with the same meaning in all commands.
OPTIMIZER = {
    "momentum": "0.5", "beta2": "0.5", "eps": "0.1", "weight_decay": "0.3", "dampening": "0.5", "nesterov": "true",
    "centered": "true", "decay": "coupled", "decay_bn_bias": "true", "bn_bias_lr": "8",
    "flat": "false", "iterations": "2", "normalize": "true",
}
SCHEDULE = {
    "warmup": "0.4", "warmup_start": "0.5", "start": "0.5", "end": "0.3", "pct_start": "0.2", "div_final": "2", "div": "3", "mom_max": "0.9",
    "mom_min": "0.5", "rise": "line", "power": "1.2", "cycles": "2", "cycle_mult": "1", "at": "0.2", "factor": "0.7",
}
AUGMENTATION = {
    "p": "0.25", "alternate": "true", "pixels": "2", "mode": "zero", "size": "3", "ratio": "1:3", "degrees": "70", "translate": "0.3",
    "shear": "20", "interpolation": "bilinear", "brightness": "0.3", "contrast": "0.5", "saturation": "0.5", "hue": "0.3", "bits": "1",
    "threshold": "10", "factor": "0", "sigma": "2", "ops": "5", "magnitude": "30", "severity": "10", "chains": "1", "all": "true",
    "length": "16", "holes": "3", "area": "0.5", "noise": "true", "scale": "0.5:0.6",
}
for step in {thing for thing, _ in NAMED if thing.startswith("augmentation ")}:
    name = step.partition(" ")[2]
    others = {"affine": ["degrees=30"], "jitter": ["brightness=0.9"]}.get(name, [])  # without them, nothing happens
    SETTINGS[step] = {
        option: Case([*TRAIN, "-e", "2", "--augment", ":".join([name, *others])],
                     ["--augment", f"{name}:" + ",".join([*(o for o in others if not o.startswith(option)), f"{option}={value}"])])
        for option, value in AUGMENTATION.items()
    }
SETTINGS["augmentation pad"]["mode"] = Case([*TRAIN, "--augment", "pad|crop"], ["--augment", "pad:mode=zero|crop"])
for views in {thing for thing, _ in NAMED if thing.startswith("views ")}:
    name = views.partition(" ")[2]
    SETTINGS[views] = {
        option: Case(["eval", "last", "--tta", name], ["--tta", f"{name}:{option}={value}"], before=TRAIN)
        for option, value in {"pixels": "2", "plain": "0.75", "mean": "outputs"}.items()
    }
for optimizer in {thing for thing, _ in NAMED if thing.startswith("optimizer ")}:
    SETTINGS[optimizer] = {
        name: Case([*TRAIN, "--schedule", "const", "--optimizer", f"{optimizer[10:]}:weight_decay=0.1"],
                   ["--optimizer", f"{optimizer[10:]}:{name}={value}" + ("" if name == "weight_decay" else ",weight_decay=0.1")],
                   same=SPEED if name == "flat" else "")
        for name, value in OPTIMIZER.items()
    }
for schedule in {thing for thing, _ in NAMED if thing.startswith("schedule ")}:
    SETTINGS[schedule] = {
        name: spec("--schedule", f"{schedule[9:]}:{name}={value}", "-e", "4") for name, value in SCHEDULE.items()
    }
    if "warmup_start" in SETTINGS[schedule]:
        SETTINGS[schedule]["warmup_start"] = Case([*TRAIN, "--schedule", f"{schedule[9:]}:warmup=0.4"],
                                                  ["--schedule", f"{schedule[9:]}:warmup=0.4,warmup_start=0.5"])
SETTINGS["schedule one-cycle"]["whole_steps"] = Case(
    [*TRAIN, "--schedule", "one-cycle:warmup=0.3"], ["--schedule", "one-cycle:warmup=0.3,whole_steps=true"])
for model in {thing for thing, name in NAMED if thing.startswith("model ") and name == "width"}:
    SETTINGS.setdefault(model, {})["width"] = Case(["models", model[6:]], [f"{model[6:]}:width=3"])


for thing, cases in data_options.SETTINGS.items():
    SETTINGS[thing] = SETTINGS.get(thing, {}) | cases


def options_of_commands():
    """(command, option) for each that `--help-all` shows."""
    found = set()
    commands = re.findall(r"^  ([\w-]+) ", told("--help").split("Options of all commands:")[0], re.M)
    for command in ["", *commands]:
        text = told(*command.split(), "--help-all")
        names = re.findall(r"^  (?:-\w, )?--(?:\[no-\])?([\w-]+)", text, re.M)
        found |= {(command, name) for name in names if name != "help"}
    return found


def run(words, folder, terminal):
    if not terminal:
        return subprocess.run([LEARN, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
    master, slave = os.openpty()
    process = subprocess.Popen([LEARN, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = shown_at(master)
    out = process.stdout.read().decode()
    process.stdout.close()
    return subprocess.CompletedProcess(words, process.wait(), out, "a bar" if "\x1b[K" in shown else "no bar")


@functools.cache  # many options are compared with the same call without them
def observe(before, words, terminal):
    with tempfile.TemporaryDirectory(prefix="learn option ") as folder:
        if before:
            run(before, folder, False)
        return seen(folder, run(words, folder, terminal))


FLAGS = {"callback": "--callbacks", "data": "--data", "loss": "--loss", "model": "--model", "optimizer": "--optimizer",
         "schedule": "--schedule"}
COMMANDS = {"train": TRAIN, "audit": AUDIT, "lr-find": find_options.LR_FIND, "batch-size-find": find_options.SIZES}
GUESSES = ("0.3", "3", "true", "false")


def guesses(thing, name):
    """Cases for an option without an entry. Options of `learn train` are tested there; other commands only accept them."""
    kind, _, of = thing.partition(" ")
    if of and kind in FLAGS:
        return [spec(FLAGS[kind], f"{of}:{name}={value}") for value in GUESSES]
    return [Case(COMMANDS[thing], words, hidden=thing != "train")
            for words in ([f"--{name}"], *([f"--{name}", value] for value in GUESSES))] if thing in COMMANDS else []


def guessed(thing, name, places):
    """Returns the fault, or an empty text."""
    if any(verdict(case, places, must_run=True) == "" for case in guesses(thing, name)):
        return ""
    return f"no entry in {Path(__file__).name}, and no value of {', '.join(GUESSES)} changes anything"


def verdict(case, places, must_run=False):
    """Returns the fault, or an empty text."""
    def observed(*words):
        before, words = (tuple(word.format(**places) for word in of or ()) for of in (case.before, words))
        return observe(before, words, case.terminal)

    without, given = observed(*case.command), observed(*case.command, *case.with_option)
    changed = sorted(key for key in without.keys() | given.keys() if without.get(key) != given.get(key))
    if must_run and given["status"] != 0:
        return "is refused"
    if not case.same and not case.hidden and not changed:
        return "changes nothing"
    if case.same and changed:
        return f"should change nothing ({case.same}), but: {', '.join(changed)}"
    if given["status"] not in (0, without["status"]) and "error:" not in given["err"]:
        return f"status {given['status']} without a word"
    return ""


def prepare(folder):
    """Creates the files that options name."""
    def images(name, count, side):
        for label, tone in (("dark", 30), ("light", 200)):
            for i in range(count):
                write_png(Path(folder, name, label, f"{i}.png"), side, side, (tone, tone + i, tone))
        return str(Path(folder, name))

    places = {"images": images("images", 20, 20), "more_images": images("more images", 25, 20),
              "damaged": images("damaged", 20, 20), "config": str(Path(folder, "config.toml")),
              "cifar": str(Path(folder, "cifar"))}
    places |= data_options.prepare(folder)
    Path(places["damaged"], "dark", "0.png").write_bytes(b"no image")
    Path(places["config"]).write_text("[train]\nseed = 9\n")
    places["schedule_config"] = str(Path(folder, "schedule.toml"))
    Path(places["schedule_config"]).write_text("[train]\nepochs = 3\n")
    # Files of the right size without blocks on disk: all images are black, all labels 0.
    batches = {f"{name}.bin": 30730000 for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]}
    fine = {"train.bin": 153700000, "test.bin": 30740000}
    for name, files, classes, count in (("cifar-10-batches-bin", batches, "batches.meta.txt", 10),
                                        ("cifar-100-binary", fine, "fine_label_names.txt", 100)):
        Path(places["cifar"], name).mkdir(parents=True)
        for file, size in files.items():
            with open(Path(places["cifar"], name, file), "wb") as sparse:
                sparse.truncate(size)
        Path(places["cifar"], name, classes).write_text("".join(f"class{i}\n" for i in range(count)))
    return places


def main():
    os.environ.pop("LEARN_DATA", None)
    os.environ["LC_ALL"] = "C"
    known = {(command, name): case for command, cases in CASES.items() for name, case in cases.items()}
    known |= {(thing, name): case for thing, cases in SETTINGS.items() for name, case in cases.items()}
    wanted = options_of_commands() | NAMED
    # Options of all commands show in the help of each.
    wanted = {(c, n) for c, n in wanted if c == "" or ("", n) not in known or (c, n) in known}
    unknown = sorted(wanted - known.keys())
    failures = []
    # Some entries serve all optimizers, or all schedules.
    kinds = {(thing.split(" ")[0], name) for thing, name in wanted}
    failures += [f"{thing}: {name}: an entry in {Path(__file__).name}, and no such option" for thing, name in sorted(known)
                 if (thing.split(" ")[0], name) not in kinds]
    if "--entries" in sys.argv:
        print(*failures, *(f"{thing}: {name}: has no entry: values are guessed" for thing, name in unknown),
              f"{len(wanted) - len(unknown)} of {len(wanted)} options have an entry", sep="\n")
        return bool(failures)
    with tempfile.TemporaryDirectory(prefix="learn options ") as folder:
        places = prepare(folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            chosen = sorted(wanted & known.keys())
            verdicts = pool.map(lambda key: verdict(known[key], places), chosen)
            verdicts = [*verdicts, *pool.map(lambda key: guessed(*key, places), unknown)]
        failures += [f"{thing}: {name}: {text}" for (thing, name), text in zip([*chosen, *unknown], verdicts) if text]
    for failure in failures:
        print("FAILED:", failure)
    silent = sum(1 for key in chosen if known[key].same)
    print(f"{len(wanted)} options, {len(failures)} failed; {silent} change nothing here but speed, and say so")
    return bool(failures)


sys.exit(main())
