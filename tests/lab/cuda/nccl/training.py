#!/usr/bin/env python3
"""Trainings of several ranks on the fake CUDA runtime against one process: training.py MPIRUN NUMBER_FLAG LEARN LIBFAKECUDA [CASE].

The command line's options reach the ranks: step by step and captured, with streams that run now, late and at random, the losses
equal one process's, and the same number of ranks has the same bits. Faults of a device end all ranks. More ways to train are in
joint_training_test.cpp.
"""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "apps"))
import harness  # noqa: E402

MPIRUN, NUMBER, LEARN, FAKE = sys.argv[1:5]
LIMIT = 280  # seconds; a training takes 3
TRAIN = ("train --device cuda --data synthetic10 --model small --width 4 --train-limit 43 --valid-limit 11 --batch-size 8 --epochs 2 "
         "--metrics accuracy,f1,auc --no-report --no-plots --no-progress --rank-timeout 120").split()  # the last batch has 3 samples
# Another order of sums in f32; halves are rounded in a sum over ranks.
FULL, HALF = 2e-5, 2e-2
# Words of a training, whether its steps can be captured, and the ranks. Held gradients need the host.
CASES = {
    "fp32": (["--sync-bn"], FULL, True, (2, 3, 4)),
    "accumulation": (["--sync-bn", "--accumulate", "2", "--clip-norm", "0.1", "--ema", "0.9", "--bucket", "0.001"], FULL, False, (2,)),
    "fp16 as fp16": (["--sync-bn", "--wire", "half", "--precision", "fp16"], HALF, True, (2,)),
}
FAULTS = ("hang:60@1",)  # of a rank's device, in epoch 3


def command_of(words, ranks, graph=False, **variables):
    command = [LEARN, *TRAIN, *words, *(["--cuda-graph"] if graph else [])]
    settings = [f"{name}={value}" for name, value in variables.items()]
    if ranks == 1:
        return ["env", f"LD_PRELOAD={FAKE}", *settings, *command]
    # The fake runtime is for the ranks, and not for mpirun.
    return [MPIRUN, NUMBER, str(ranks), "env", f"LD_PRELOAD={FAKE}", f"FAKE_CUDA_DEVICES={ranks}", *settings, *command]


def run(folder, command):
    folder.mkdir()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT, check=False)
    return done.returncode, done.stdout


def trained(folder, words, ranks=1, graph=False, streams="now"):
    """Losses of all batches and validations, and the parts of the run that must be equal."""
    command = command_of(words, ranks, graph, FAKE_CUDA_STREAMS=streams)
    status, output = run(folder, command)
    if status != 0 or "not captured" in output:
        sys.exit(f"FAILED: {' '.join(command)}\nstatus {status}\n{output}")
    result = folder / "runs/train"
    lines = [json.loads(line) for line in (result / "metrics.jsonl").read_text().splitlines()]
    # Validation uses the running statistics.
    losses = [line["loss"] if "batch" in line else line["valid_loss"] for line in lines if "batch" in line or "valid_loss" in line]
    return losses, harness.result_of(str(result))


def ended(folder, fault, graph):
    """Whether a fault of a device ends all ranks with the cause, and leaves whole checkpoints."""
    words = ["--epochs", "3", "--rank-timeout", "5"]
    status, output = run(folder, command_of(words, 2, graph, FAKE_NCCL=fault))
    try:
        harness.whole_states(str(folder / "runs/train/weights"))
        whole = True
    except ValueError:
        whole = False
    good = status == 9 and "NCCL" in output and "FAKE CUDA ERROR" not in output and whole
    print(f"{'ok    ' if good else 'FAILED'} {fault}, {'captured' if graph else 'eager'}: status {status}, "
          f"{'whole checkpoints' if whole else 'DAMAGED CHECKPOINTS'}{'' if good else chr(10) + output}", flush=True)
    return good


def difference(a, b):
    return max(abs(x - y) / max(abs(y), 1e-6) for x, y in zip(a, b, strict=True))


def main():
    seed = random.SystemRandom().randrange(1000)
    print(f"streams at random: {seed}")
    wanted = sys.argv[5:] or list(CASES)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="learn gpu ranks ") as place:
        for name in wanted:
            words, tolerance, capturable, numbers = CASES[name]
            folder = pathlib.Path(place) / name
            folder.mkdir()
            alone, _ = trained(folder / "alone", words)
            streams = itertools.cycle(("now", "late", f"rand:{seed}"))
            ways = [(ranks, graph, next(streams)) for ranks in numbers for graph in (False, True) if capturable or not graph]
            bits = {}
            for i, (ranks, graph, schedule) in enumerate(ways):
                losses, result = trained(folder / str(i), words, ranks, graph, schedule)
                far = difference(losses, alone)
                same = bits.setdefault(ranks, (losses, result)) == (losses, result)
                good = far <= tolerance and same
                failures += not good
                print(f"{'ok    ' if good else 'FAILED'} {name}, {ranks} ranks, {'captured' if graph else 'eager'}, streams {schedule}: losses within "
                      f"{far:.1e}, {'same bits' if same else 'OTHER BITS'}", flush=True)
        for i, (fault, graph) in enumerate((fault, graph) for fault in (FAULTS if not sys.argv[5:] else ()) for graph in (False, True)):
            failures += not ended(pathlib.Path(place) / f"fault {i}", fault, graph)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
