#!/usr/bin/env python3
"""Compares a run's event files with TensorBoard's own readers: compare.py PATH/TO/learn [FOLDER].

Not a default test, because it needs tensorboard, numpy, Pillow and safetensors from PyPI. A training is killed in its middle and
resumed. Then EventAccumulator, and the web server of `tensorboard` with its data server and with its Python loader, must show each
step once, with the values of metrics.jsonl rounded to f32, histograms of the last checkpoint's weights, images that can be
decoded, and the configuration. Exit status 1 otherwise.
"""
import io
import json
import math
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import tensorboard
from PIL import Image
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

TRAIN = ("train --data synthetic10 --train-limit 640 --valid-limit 100 --model small --width 4 --batch-size 32 --epochs 4 --threads 1 "
         "--workers 1 --precision fp16 --callbacks tensorboard;step_norms").split()
BATCHES, EPOCHS = 80, 4
failed = 0


def check(right, what):
    global failed
    failed += not right
    print(f"{'ok  ' if right else 'FAIL'} {what}")


def train(learn, folder):
    killed = subprocess.run([learn, "-q", *TRAIN, "--inject", "kill@57"], cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(killed.returncode == -9, "the training is killed in batch 57, with 40 in its last checkpoint")
    subprocess.run([learn, "-q", "train", "--resume", "last"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def wanted(run):
    """Values of each tag by step, as in metrics.jsonl."""
    tags = {}
    batch = 0
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        kind = row.pop("kind")
        batch = int(row.pop("batch", batch))
        row.pop("epoch")
        for name, value in row.items():
            value = math.nan if value is None else value
            tags.setdefault(f"{'train' if kind == 'batch' else 'epoch'}/{name}", {})[batch] = float(np.float32(value))
    return tags


def same(theirs, ours):
    """(step, value) each, in order."""
    return [s for s, _ in theirs] == list(ours) and np.array_equal([v for _, v in theirs], list(ours.values()), equal_nan=True)


def check_scalars(how, tags, read):
    wrong = [tag for tag in tags if not same(read(tag), tags[tag])]
    count = sum(len(values) for values in tags.values())
    check(len(tags["train/loss"]) == BATCHES and len(tags["epoch/valid_loss"]) == EPOCHS and not wrong,
          f"{how}: {count} values of {len(tags)} tags are those of metrics.jsonl {wrong or ''}")


def check_image(how, data, size=None):
    image = Image.open(io.BytesIO(data))
    image.load()
    check(image.mode == "RGB" and size in (None, image.size), f"{how}: an image of {image.size}, {len(data)} bytes")


def check_accumulator(run, tags):
    events = EventAccumulator(str(run / "tensorboard"), size_guidance=dict.fromkeys(("scalars", "histograms", "images", "tensors"), 0))
    events.Reload()
    how = "EventAccumulator"
    check_scalars(how, tags, lambda tag: [(e.step, e.value) for e in events.Scalars(tag)])
    weights = load_file(run / "weights" / "last.safetensors")
    steps = [BATCHES // EPOCHS * (epoch + 1) for epoch in range(EPOCHS)]
    right = 0
    shown = [tag for tag in events.Tags()["histograms"] if tag.startswith("weights/")]
    for tag in shown:
        values = weights["model.params." + tag.removeprefix("weights/")].astype(np.float64)
        histograms = events.Histograms(tag)
        last = histograms[-1].histogram_value
        right += ([h.step for h in histograms] == steps and last.num == values.size == sum(last.bucket)
                  and (last.min, last.max) == (values.min(), values.max()) and math.isclose(last.sum, values.sum(), abs_tol=1e-9)
                  and all(a < b for a, b in zip(last.bucket_limit, last.bucket_limit[1:])))
    check(0 < len(shown) == right, f"{how}: histograms of {right} of {len(shown)} parameters are those of last.safetensors")
    for tag in ("images/training", "images/validation"):
        images = events.Images(tag)
        check(len(images) == EPOCHS, f"{how}: {tag} at {[image.step for image in images]}")
        check_image(how, images[-1].encoded_image_string, (images[-1].width, images[-1].height))
    text = events.Tensors("config")[-1].tensor_proto.string_val[0].decode()
    check('model = "small' in text, f"{how}: {len(text)} bytes of configuration")
    return shown


class Served:
    """`tensorboard` on a free port."""

    def __init__(self, run, fast):
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(run), "--host", "127.0.0.1", "--port", "0",
                   f"--load_fast={fast}", "--samples_per_plugin", "scalars=10000,images=100,histograms=100"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                self.address = found[0]
                return
        sys.exit(f"tensorboard --load_fast={fast} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.address}data/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return answer.read()

    def json(self, path, **query):
        return json.loads(self.get(path, **query))

    def wait(self, run):
        for _ in range(120):
            try:
                if "epoch/samples_per_second" in self.json("plugin/scalars/tags").get(run, {}):
                    return
            except urllib.error.URLError:
                pass
            time.sleep(0.5)
        sys.exit("tensorboard shows nothing")


def check_served(folder, tags, parameters, fast):
    name = "tensorboard"
    how = f"tensorboard --load_fast={fast}"
    with Served(folder, fast) as server:
        server.wait(name)

        def scalars(tag):  # [wall time, step, value]; what is not finite as text
            return [(step, float(value)) for _, step, value in server.json("plugin/scalars/scalars", run=name, tag=tag)]

        check_scalars(how, tags, scalars)
        histograms = [server.json("plugin/histograms/histograms", run=name, tag=tag) for tag in parameters]
        counted = [sum(bucket[2] for bucket in shown[-1][2]) for shown in histograms]
        check(all(len(shown) == EPOCHS for shown in histograms) and min(counted) > 0, f"{how}: {len(histograms)} histograms")
        images = server.json("plugin/images/images", run=name, tag="images/validation", sample=0)
        check(len(images) == EPOCHS, f"{how}: images at {[image['step'] for image in images]}")
        check_image(how, server.get("plugin/images/individualImage?" + images[-1]["query"] + "&"))
        text = server.json("plugin/text/text", run=name, tag="config")
        check("small" in text[-1]["text"] and "<pre>" in text[-1]["text"], f"{how}: the configuration as text")


def main():
    learn = str(Path(sys.argv[1]).resolve())
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    print(f"tensorboard {tensorboard.__version__}")
    train(learn, folder)
    run = folder / "runs" / "train"
    tags = wanted(run)
    parameters = check_accumulator(run, tags)
    for fast in ("true", "false"):
        check_served(run, tags, parameters, fast)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


main()
