"""The options of the commands that draw or write pages, for options_walk.py."""
from option_case import Case, SPEED, TRAIN

SHOW = ["show-batch", "--data", "{images}", "--val-split", "0.2"]
FOLDER = ["show-schedule", "--data", "{images}", "--val-split", "0.2", "-b", "4"]
SCHEDULE = ["show-schedule", "--data", "synthetic10", "--train-limit", "480"]

REPORT = ["report", "runs/t", "--out", "page.html"]


def report(*with_option, **how):
    return Case(REPORT, list(with_option), before=how.pop("before", TRAIN), **how)


CASES = {
    "report": {
        "out": report("--out", "there.html"),
        "weights": report("--weights", "last"),
        "evaluate": report("--no-evaluate"),
        "top-losses": report("--top-losses", "3"),
        "images": report("--images", "3"),
        "data-dir": report("--data-dir", "there", before=["train", "--data-dir", "{cifar}", "--data", "cifar10:verify=false",
                                                                *TRAIN[3:]]),
        "batch-size": report("--batch-size", "7", same=SPEED),
        "workers": report("--workers", "0", same=SPEED),
        "precision": report("--precision", "tf32"),
        "device": report("--device", "cuda"),
        "deterministic": report("--no-deterministic"),
        "tune": report("--tune"),
        "plan-cache": report("--plan-cache", "plans"),
        "winograd": report("--no-winograd", before=[*TRAIN, "--width", "16"], hidden=True),
        "threads": report("--threads", "2", same=SPEED),
    },
    "show-batch": {
        "data": Case(SHOW, ["--data", "{more_images}"]),
        "data-dir": Case(["show-batch", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
        "classes": Case(SHOW, ["--classes", "light,dark"]),
        "val-split": Case(SHOW, ["--val-split", "0.5"]),
        "train-limit": Case(SHOW, ["--train-limit", "5"]),
        "image-size": Case(SHOW, ["--image-size", "16"]),
        "normalize": Case([*SHOW, "--augment", "full"], ["--normalize", "cifar10"]),
        "sampling": Case(SHOW, ["--sampling", "balanced"]),
        "augment": Case(SHOW, ["--augment", "none"]),
        "threads": Case(SHOW, ["--threads", "2"], same=SPEED),
        "seed": Case(SHOW, ["--seed", "7"]),
        "config": Case(SHOW, ["--config", "{config}"]),
        "preset": Case(["show-batch", "--train-limit", "5", "--data", "synthetic10", "--valid"], ["--preset", "quick"]),
        "images": Case(SHOW, ["--images", "3"]),
        "versions": Case(SHOW, ["--versions", "2"]),
        "valid": Case(SHOW, ["--valid"]),
        "out": Case(SHOW, ["--out", "there.svg"]),
    },
    "plot": {
        "what": Case(["plot", "runs/t"], ["--what", "schedule"], before=TRAIN),
        "out": Case(["plot", "runs/t"], ["--out", "there.svg"], before=TRAIN),
    },
    "show-schedule": {
        "data": Case(FOLDER, ["--data", "{more_images}"]),
        "data-dir": Case(["show-schedule", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
        "classes": Case(FOLDER, ["--classes", "light"]),
        "val-split": Case(FOLDER, ["--val-split", "0.5"]),
        "train-limit": Case(SCHEDULE, ["--train-limit", "200"]),
        "drop-last": Case([*SCHEDULE, "-b", "70"], ["--drop-last"]),
        "model": Case([*SCHEDULE, "--lr", "0.01:0.1", "--split", "layer2"], ["--model", "darknet"]),
        "split": Case([*SCHEDULE, "--lr", "0.01:0.1"], ["--split", "layer3"]),
        "pretrained": Case(SCHEDULE, ["--pretrained", "runs/t"], before=TRAIN, same="for --fine-tune, and weights change no schedule"),
        "epochs": Case(SCHEDULE, ["--epochs", "3"]),
        "fine-tune": Case([*SCHEDULE, "--pretrained", "runs/t"], ["--fine-tune", "3"], before=TRAIN),
        "batch-size": Case(SCHEDULE, ["--batch-size", "12"]),
        "lr": Case(SCHEDULE, ["--lr", "0.5"]),
        "schedule": Case(SCHEDULE, ["--schedule", "linear"]),
        "warmup": Case(SCHEDULE, ["--warmup", "0.5"]),
        "optimizer": Case(SCHEDULE, ["--optimizer", "sgd"]),
        "momentum": Case(SCHEDULE, ["--momentum", "0.5"]),
        "weight-decay": Case(SCHEDULE, ["--weight-decay", "0.3"]),
        "callbacks": Case(SCHEDULE, ["--callbacks", "param_scheduler:hyper=weight_decay,schedule=linear"]),
        "config": Case(SCHEDULE, ["--config", "{schedule_config}"]),
        "preset": Case(SCHEDULE, ["--preset", "quick"]),
        "out": Case(SCHEDULE, ["--out", "there.svg"]),
    },
}
