"""The options of the commands that draw, for options_walk.py."""
from option_case import Case, SPEED, TRAIN

SHOW = ["show-batch", "--data", "{images}", "--val-split", "0.2"]
SCHEDULE = ["show-schedule", "--data", "synthetic10", "--train-limit", "480"]

CASES = {
    "show-batch": {
        "data": Case(SHOW, ["--data", "{more_images}"]),
        "data-dir": Case(["show-batch", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
        "classes": Case(SHOW, ["--classes", "light,dark"]),
        "val-split": Case(SHOW, ["--val-split", "0.5"]),
        "train-limit": Case(SHOW, ["--train-limit", "5"]),
        "image-size": Case(SHOW, ["--image-size", "16"]),
        "normalize": Case([*SHOW, "--augment", "full"], ["--normalize", "cifar10"]),
        "augment": Case(SHOW, ["--augment", "none"]),
        "threads": Case(SHOW, ["--threads", "2"], same=SPEED),
        "seed": Case(SHOW, ["--seed", "7"]),
        "config": Case(SHOW, ["--config", "{config}"]),
        "preset": Case(["show-batch"], ["--preset", "notebook", "--data-dir", "{cifar}"]),
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
        "data": Case(["show-schedule", "--data", "{images}", "--val-split", "0.2", "-b", "4"], ["--data", "{more_images}"]),
        "data-dir": Case(["show-schedule", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
        "classes": Case([*SCHEDULE, "--train-limit", "1.0"], ["--classes", "disk,ring"]),
        "val-split": Case([*SCHEDULE, "--train-limit", "1.0"], ["--val-split", "0.3"]),
        "train-limit": Case(SCHEDULE, ["--train-limit", "200"]),
        "model": Case([*SCHEDULE, "--lr", "0.01:0.1", "--split", "layer2"], ["--model", "darknet"]),
        "split": Case([*SCHEDULE, "--lr", "0.01:0.1"], ["--split", "layer3"]),
        "epochs": Case(SCHEDULE, ["--epochs", "3"]),
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
