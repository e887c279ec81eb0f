"""Effects of the options of `learn predict`, export, import and average, for options_walk.py."""
from option_case import Case, LABELS, SPEED, TRAIN

PREDICT = {
    "weights": Case(["predict", "runs/t", "{images}/dark/1.png"], ["--weights", "last", "--top", "0"], before=TRAIN, hidden=True),
    "out": Case(["predict", "last", "{images}/dark/1.png"], ["--out", "there"], before=TRAIN),
    "top": Case(["predict", "last", "{images}/dark/1.png"], ["--top", "2"], before=TRAIN),
    "threshold": Case(["predict", "last", "{images}/dark/1.png"], ["--threshold", "0.999"], before=LABELS),
    "csv": Case(["predict", "last", "{images}/dark/1.png"], ["--csv"], before=TRAIN),
    "json": Case(["predict", "last", "{images}/dark/1.png"], ["--json"], before=TRAIN),
    "tta": Case(["predict", "last", "{images}/dark/1.png", "--csv"], ["--tta", "mirror"], before=TRAIN, hidden=True),
    "batch-size": Case(["predict", "last", "{images}/dark/1.png"], ["--batch-size", "7"], before=TRAIN, same=SPEED),
    "precision": Case(["predict", "last", "{images}/dark/1.png", "--csv"], ["--precision", "bf16"], before=TRAIN),
    "device": Case(["predict", "last", "{images}/dark/1.png"], ["--device", "cuda"], before=TRAIN),
    "deterministic": Case(["predict", "last", "{images}/dark/1.png"], ["--no-deterministic"], before=TRAIN),
    "tune": Case(["predict", "last", "{images}/dark/1.png"], ["--tune"], before=TRAIN),
    "plan-cache": Case(["predict", "last", "{images}/dark/1.png"], ["--plan-cache", "plans"], before=TRAIN),
    "winograd": Case(["predict", "last", "{images}/dark/1.png", "--csv"], ["--no-winograd"], before=[*TRAIN, "--width", "16"], hidden=True),
    "threads": Case(["predict", "last", "{images}/dark/1.png"], ["--threads", "2"], before=TRAIN, same=SPEED),
}

IMPORT = ["import", "runs/t/weights/best.safetensors", "--model", "small:width=2", "--out", "new.safetensors"]
# Other effects are in the metadata of the file, which the walk does not compare.
EXPORT_CASES = {
    "export": {
        "weights": Case(["export", "runs/t", "net.onnx"], ["--weights", "last"], before=TRAIN),
        "out": Case(["export", "last", "net.onnx"], ["--out", "there"], before=TRAIN),
        "fold": Case(["export", "last", "net.onnx"], ["--fold"], before=TRAIN),
        "normalize": Case(["export", "last", "net.onnx"], ["--normalize"], before=TRAIN),
        "softmax": Case(["export", "last", "net.onnx"], ["--softmax"], before=TRAIN),
        "sigmoid": Case(["export", "last", "net.onnx"], ["--sigmoid"], before=LABELS),
    },
    "import": {
        "out": Case(IMPORT, ["--out", "other.safetensors"], before=TRAIN),
        "model": Case(IMPORT, ["--model", "small:width=4"], before=TRAIN),
        "classes": Case(IMPORT, ["--classes", "a,b"], before=TRAIN),
        "image-size": Case(IMPORT, ["--image-size", "64"], before=TRAIN, hidden=True),
        "normalize": Case(IMPORT, ["--normalize", "imagenet"], before=TRAIN, hidden=True),
        "map": Case(IMPORT, ["--map", "*.weight = *.other"], before=TRAIN),
        "partial": Case([*IMPORT, "--model", "small:width=4"], ["--partial"], before=TRAIN),
        "seed": Case([*IMPORT, "--map", "layer1.conv.weight =", "--partial"], ["--seed", "7"], before=TRAIN),
    },
    "average": {
        "out": Case(["average", "runs/t", "runs/t", "--out", "mean.safetensors"], ["--out", "other.safetensors"], before=TRAIN),
        "weights": Case(["average", "runs/t", "runs/t", "--out", "mean.safetensors"], ["--weights", "last"], before=TRAIN),
    },
}
