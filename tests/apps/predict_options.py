"""What the options of `learn predict` change, for options_walk.py."""
from option_case import Case, SPEED, TRAIN

PREDICT = {
    "weights": Case(["predict", "runs/t", "{images}/dark/1.png"], ["--weights", "last", "--top", "0"], before=TRAIN, hidden=True),
    "out": Case(["predict", "last", "{images}/dark/1.png"], ["--out", "there"], before=TRAIN),
    "top": Case(["predict", "last", "{images}/dark/1.png"], ["--top", "2"], before=TRAIN),
    "csv": Case(["predict", "last", "{images}/dark/1.png"], ["--csv"], before=TRAIN),
    "json": Case(["predict", "last", "{images}/dark/1.png"], ["--json"], before=TRAIN),
    "tta": Case(["predict", "last", "{images}/dark/1.png", "--csv"], ["--tta"], before=TRAIN, hidden=True),
    "batch-size": Case(["predict", "last", "{images}/dark/1.png"], ["--batch-size", "7"], before=TRAIN, same=SPEED),
    "precision": Case(["predict", "last", "{images}/dark/1.png"], ["--precision", "tf32"], before=TRAIN),
    "device": Case(["predict", "last", "{images}/dark/1.png"], ["--device", "cuda"], before=TRAIN),
    "deterministic": Case(["predict", "last", "{images}/dark/1.png"], ["--no-deterministic"], before=TRAIN),
    "tune": Case(["predict", "last", "{images}/dark/1.png"], ["--tune"], before=TRAIN),
    "plan-cache": Case(["predict", "last", "{images}/dark/1.png"], ["--plan-cache", "plans"], before=TRAIN),
    "winograd": Case(["predict", "last", "{images}/dark/1.png", "--csv"], ["--no-winograd"], before=[*TRAIN, "--width", "16"], hidden=True),
    "threads": Case(["predict", "last", "{images}/dark/1.png"], ["--threads", "2"], before=TRAIN, same=SPEED),
}
