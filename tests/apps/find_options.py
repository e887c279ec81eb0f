"""The options of the commands that look for a learning rate or a batch size, for options_walk.py."""
from option_case import Case, TRAIN

# Its file has more digits than the screen.
LR_FIND = ("lr-find --data synthetic10 --train-limit 48 --width 2 -b 16 --threads 1 --workers 1 --iterations 24 --start 1e-4 "
           "--end 1 --csv lr.csv").split()
SIZES = "batch-size-find --data synthetic10 --train-limit 48 --width 2 --threads 1 --workers 1 --smallest 32 --steps 1".split()


def cases(train, audited):
    """Options of `learn train` that affect single steps, as in `learn audit`, and their own."""
    steps = [name for name in audited if name not in ("epochs", "schedule", "warmup", "inject")]

    def instead(command, case, hidden):
        return Case([*command, *case.command[len(TRAIN):]], case.with_option, case.same, hidden, case.before)

    return {
        "lr-find": {name: instead(LR_FIND, train[name], train[name].hidden) for name in (*steps, "sync-bn", "bucket", "wire", "rank-timeout")} | {
            "inject": Case(LR_FIND, ["--inject", "spike@3"]),
            "data-dir": Case(["lr-find", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
            "pretrained": Case(LR_FIND, ["--pretrained", "runs/t"], before=TRAIN),
            "fine-tune": Case([*LR_FIND, "--pretrained", "runs/t"], ["--fine-tune", "1"], before=TRAIN),
            "split": Case([*LR_FIND, "--freeze", "1"], ["--split", "layer3", "--freeze", "1"]),
            "lr": Case(LR_FIND, ["--lr", "1e-4,1e-2"]),
            "callbacks": Case(LR_FIND, ["--callbacks", "gradient_clip:limit=0.01"]),
            "preset": Case(LR_FIND, ["--preset", "darknet-one-cycle"]),
            "start": Case(LR_FIND, ["--start", "1e-3"]),
            "end": Case(LR_FIND, ["--end", "2"]),
            "iterations": Case(LR_FIND, ["--iterations", "30"]),
            "stop": Case([*LR_FIND, "--optimizer", "sgd", "--end", "1e4"], ["--no-stop"]),
            "plot": Case(LR_FIND, ["--plot", "lr.png"]),
            "csv": Case(LR_FIND, ["--csv", "there.csv"]),
        },
        # The effect of a training option on the time of a step is not visible in a test.
        "batch-size-find": {name: instead(SIZES, train[name], True) for name in steps if name not in ("batch-size", "drop-last")} | {
            "inject": Case(SIZES, ["--inject", "slow@1"], hidden=True),
            "data-dir": Case(["batch-size-find", "--data", "cifar10"], ["--data-dir", "elsewhere"]),
            "fine-tune": Case([*SIZES, "--pretrained", "runs/t"], ["--fine-tune", "1"], hidden=True, before=TRAIN),
            "preset": Case(SIZES, ["--preset", "quick"], hidden=True),
            "smallest": Case(SIZES, ["--smallest", "8"]),
            "largest": Case([*SIZES, "--smallest", "8"], ["--largest", "16"]),
            "steps": Case(SIZES, ["--steps", "2"], hidden=True),
        },
    }
