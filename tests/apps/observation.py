"""Files and output of a command, without times, to be compared with those of another one, for options_walk.py."""
import hashlib
import json
import re
from pathlib import Path

import event_files


def normal(text):
    """Output without times and speeds, and without the spaces that depend on them."""
    text = re.sub(r"^( +\d+ .*?\de[+-]\d+) .*", r"\1", text, flags=re.M)
    text = re.sub(r"^( +\d+) +[\d.]+ +\d+ +[\d.]+ (bytes|[MG]iB)$", r"\1", text, flags=re.M)
    text = re.sub(r"\d[\d ]* samples/s.*|eta [\d:]*|\d+ GFLOP/s|[\d.]+ GiB|about .* epochs.*|[\d.]+ MiB", "", text)
    return re.sub(r"[ \t]+", " ", text)


def tensors(path):
    """Names and bytes of a checkpoint, except the recorder's tables, which contain times."""
    data = path.read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    start = 8 + int.from_bytes(data[:8], "little")
    told = {key: value for key, value in header.pop("__metadata__").items()
            if key.startswith("state.") and "seconds" not in key}
    for name, entry in header.items():
        if "recorder" not in name:
            begin, end = entry["data_offsets"]
            told[name] = hashlib.sha256(data[start + begin:start + end]).hexdigest()
    return told


# Rows and facts of a page that tell them.
TIMES = re.compile(r'<th scope="row">(training time|images per second|started)</th>.*|<dt>training time</dt>.*|'
                   r'<p class="soft detail">started .*')


def seen(folder, done):
    """All that a command has left and said."""
    found = {"status": done.returncode, "out": normal(done.stdout), "err": normal(done.stderr)}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.name.startswith("events."):
            found[f"events {path.parent.relative_to(folder)}"] = event_files.event_values(path.read_bytes())
            continue
        found[f"file {name}"] = True
        if path.suffix == ".safetensors":
            found[f"tensors {name}"] = tensors(path)
        elif path.suffix in (".png", ".svg"):
            found[f"plot {name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.suffix == ".csv":
            rows = [line.split(",") for line in path.read_text().splitlines()]
            found[f"table {name}"] = [row[:1] + row[2:-1] for row in rows]
        elif path.suffix == ".html" and path.parent == Path(folder):  # in a run's folder it has the run's settings
            found[f"page {name}"] = hashlib.sha256(TIMES.sub("", path.read_text()).encode()).hexdigest()
        elif path.suffix == ".jsonl":
            found[f"lines {name}"] = re.sub(r'"(seconds|samples_per_second)": [^,}]*', "", path.read_text())
        elif path.name == "run.json":
            record = json.loads(path.read_text())
            for key in ("argv", "started", "ended", "resumes"):
                record.pop(key)
            for key in ("seconds", "samples_per_second"):
                record["results"].pop(key, None)
            found[f"record {name}"] = record
    return found
