#!/usr/bin/env python3
"""Starts the pods of apps/examples/kubernetes_job.yaml as processes on the fake CUDA runtime: pods.py LEARN LIBFAKECUDA.

Each process has the manifest's command and variables. They must train together.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
LEARN, FAKE = sys.argv[1:3]
MANIFEST = (ROOT / "apps/examples/kubernetes_job.yaml").read_text()
SMALL = "--model mlp --width 16 --train-limit 43 --valid-limit 11 --batch-size 8 --epochs 1 --no-report --no-plots --no-progress".split()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def variables(index):
    """The environment of a pod's container. Names of pods exist in a cluster only."""
    found = dict(re.findall(r'- name: ([A-Z_]+)\n +value: "?([^"\n]+)"?\n', MANIFEST))
    found |= {name: str(index) for name in re.findall(r"- name: ([A-Z_]+)\n +valueFrom:\n +fieldRef:\n +fieldPath: "
                                                      r"metadata.annotations\['batch.kubernetes.io/job-completion-index'\]\n", MANIFEST)}
    assert found["MASTER_ADDR"] == "photos-0.photos", found
    return {**found, "MASTER_ADDR": "127.0.0.1"}


def command():
    words = [word.strip().strip('"') for word in re.search(r"command: \[(.*)\]", MANIFEST)[1].split(",")]
    replaced = {"learn": LEARN, "/data/photos": "synthetic10", "/data/runs": "runs"}
    return [replaced.get(word, word) for word in words] + SMALL


def main():
    pods = int(re.search(r"completions: (\d+)", MANIFEST)[1])
    assert variables(0)["WORLD_SIZE"] == str(pods) == re.search(r"parallelism: (\d+)", MANIFEST)[1], variables(0)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI", "PMI", "SLURM"))}
    common = {**inherited, "LD_PRELOAD": FAKE, "FAKE_CUDA_DEVICES": str(pods)}
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="learn pods ") as folder:
        started = [subprocess.Popen(command(), cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    env={**common, **variables(index), "MASTER_PORT": port}) for index in range(pods)]
        output = "".join(process.communicate(timeout=100)[0] for process in started)
        finished = pathlib.Path(folder, "runs/photos/weights/last.safetensors").exists()
    if any(process.returncode for process in started) or f"{pods} ranks on 1 host, each a GPU" not in output or not finished:
        sys.exit(f"FAILED: {[process.returncode for process in started]}\n{output}")
    print(f"{pods} pods train together")


if __name__ == "__main__":
    main()
