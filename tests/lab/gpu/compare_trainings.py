#!/usr/bin/env python3
"""Compares a training with another one: compare_trainings.py TITLE DEVIATION RUN OTHER_RUN.

DEVIATION is the largest relative difference of the loss of a batch. 0: losses, weights and state must have the same bits. Prints
the result after "ranks:", for the summary. Exit status 1 if the runs differ more, or if one of them could not capture its steps.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps"))
import harness  # noqa: E402


def losses_of(run):
    lines = map(json.loads, (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "batch" in line]


def difference(losses, others):
    """Infinite for trainings with other batches, or with a loss that is not a number."""
    if len(losses) != len(others) or not losses:
        return float("inf")
    differences = [abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses, others)]
    return max(differences) if all(d == d for d in differences) else float("inf")


def main():
    title, deviation, run, other = sys.argv[1], float(sys.argv[2]), *sys.argv[3:5]
    if any("is not captured" in pathlib.Path(each, "run.log").read_text() for each in (run, other)):
        print(f"ranks: {title}: STEPS WERE NOT CAPTURED, see run.log")
        return 1
    far = difference(losses_of(run), losses_of(other))
    if deviation > 0:
        print(f"ranks: {title}: losses within {far:.1e}, {deviation:.0e} allowed")
        return 0 if far <= deviation else 1
    same = far == 0 and harness.result_of(run) == harness.result_of(other)
    print(f"ranks: {title}: {'same bits' if same else f'OTHER BITS, losses within {far:.1e}'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
