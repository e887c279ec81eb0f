"""The record of a run on a GPU, in Markdown, to be committed under tests/lab/gpu/results."""
import dataclasses
import json
import math
import re

import rank_stages
import step_costs


@dataclasses.dataclass
class Facts:
    gpu: str
    driver: str
    date: str
    commit: str
    command: str
    seconds: float
    toolkit: str = ""


def file_name(facts):
    return f"{facts.date}-{re.sub(r'[^A-Za-z0-9.]+', '-', facts.gpu).strip('-')}.md"


def lines_marked(outcomes, mark):
    """Texts that programs printed after a mark, in order, each once: "memory: ..." """
    return list(dict.fromkeys(line[len(mark) + 1:].strip() for outcome in outcomes
                              for line in outcome.output.splitlines()
                              if line.startswith(mark + ":")))


def bullets(title, lines):
    return ["", f"**{title}**", ""] + [f"* {line}" for line in lines] if lines else []


TYPES = ["f32", "f16", "bf16"]
PARITY = re.compile(r"(\S+) (f32|f16|bf16) (\S+) \((.*)\)")


def parity_table(outcomes):
    """How near each operation came to what is allowed: the worst of each type, worst operations first."""
    worst = {}
    for line in lines_marked(outcomes, "parity"):
        operation, dtype, ratio, _ = PARITY.fullmatch(line).groups()
        row = worst.setdefault(operation, {})
        row[dtype] = worse(row.get(dtype, 0.0), float(ratio))
    if not worst:
        return []
    ordered = sorted(worst.items(), key=lambda item: -max(map(rank, item[1].values())))
    return ["", "**Parity: the worst error of each operation over the error allowed**", "",
            f"| operation | {' | '.join(TYPES)} |", "| --- |" + " --- |" * len(TYPES)] + \
        [f"| {name} | " + " | ".join(f"{row[t]:.3f}" if t in row else "" for t in TYPES) + " |" for name, row in ordered]


def rank(ratio):
    return math.inf if math.isnan(ratio) else ratio


def worse(a, b):
    return a if rank(a) >= rank(b) else b


def bench_table(outcomes):
    """Times of steps measured by bench_step, next to the predictions for their graphs in tests/lab/gpu/steps.md."""
    predicted = step_costs.recorded(step_costs.STEPS.read_text())
    rows = []
    for outcome in outcomes:
        if not outcome.name.startswith("bench_step ") or not outcome.good:
            continue
        said = json.loads(outcome.output.strip().splitlines()[-1])
        net = step_costs.Net(said["model"], said["batch"], said["precision"])
        step = predicted.get(net) if said["mode"] == "graph" else None
        beside = [f"{step.milliseconds:.3f}", f"{said['step_ms'] / step.milliseconds:.2f}"] if step else ["", ""]
        nodes = [str(said.get("operations", "")), str(step.nodes) if step else ""]
        rows.append([said["model"], str(said["batch"]), said["precision"], said["mode"], f"{said['step_ms']:.3f}", *beside,
                     f"{said['images_per_s']:.0f}", f"{said['host_wall_us']:.0f}", *nodes])
    header = ["net", "batch", "precision", "mode", "measured ms", "predicted ms", "measured / predicted", "images/s", "host us",
              "nodes", "predicted nodes"]
    return ["", "**Steps, measured and predicted (tests/lab/gpu/steps.md)**", *step_costs.table(header, rows)] \
        if rows else []


def rank_table(outcomes):
    """Steps of ranks, next to the same ranks without exchange; one rank, next to no launcher."""
    rows = rank_stages.rows(outcomes)
    return ["", "**Steps of ranks**", *step_costs.table(rank_stages.COLUMNS, rows)] if rows else []


def code_block(title, lines):
    return ["", f"**{title}**", "", "```", *lines, "```"] if lines else []


def markdown(facts, stages, jobs, ledger, machine=()):
    """`stages` and `jobs` are outcomes, `ledger` the last line of kernel_ledger.py, `machine` what learn doctor said."""
    bad = [stage for stage in stages if stage.bad]
    verdict = "everything passed" if not bad else \
        "not everything passed: " + ", ".join(f"{stage.name} {stage.status}" for stage in bad)
    verdict += "".join(f"; {stage.name} skipped: {stage.note}" for stage in stages if stage.status == "skipped")
    rows = [f"| {s.name} | {s.status} | {s.seconds:.1f} s | {s.note} |" for s in stages]
    failed = [f"{job.name}: {job.note}" for job in jobs if not job.good]
    text = [f"# {facts.gpu}, {facts.date}", "", f"{verdict[0].upper()}{verdict[1:]}.", "",
            f"* GPU {facts.gpu}, driver {facts.driver}" + (f", {facts.toolkit}" if facts.toolkit else ""),
            f"* commit {facts.commit}", f"* `{facts.command}`, {facts.seconds:.0f} s in all", "",
            "| stage | outcome | time | |", "| --- | --- | --- | --- |", *rows]
    text += bullets("Programs that did not pass", failed)
    text += parity_table(jobs)
    text += bench_table(jobs)
    text += rank_table(jobs)
    text += bullets("Trainings of several ranks", lines_marked(jobs, "ranks"))
    text += bullets("Memory", lines_marked(jobs, "memory"))
    text += bullets("Losses on the CPU and on CUDA", lines_marked(jobs, "losses"))
    text += bullets("Programs", [f"{job.name}: {job.seconds:.1f} s{', ' + job.note if job.note else ''}"
                                 for job in jobs if job.good])
    text += code_block("Machine", machine)
    text += code_block("cuDNN's description of the device", lines_marked(jobs, "description"))
    if ledger:
        text += ["", ledger]
    return "\n".join(text) + "\n"
