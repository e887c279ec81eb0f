"""The record of a run on a GPU, in Markdown, to be committed under tests/gpu/results."""
import dataclasses
import re


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
    """What programs printed behind a mark, in order: "memory: ..." """
    return [line[len(mark) + 1:].strip() for outcome in outcomes for line in outcome.output.splitlines()
            if line.startswith(mark + ":")]


def bullets(title, lines):
    return ["", f"**{title}**", ""] + [f"* {line}" for line in lines] if lines else []


def markdown(facts, stages, jobs, ledger):
    """`stages` and `jobs` are outcomes, `ledger` the last line of kernel_ledger.py."""
    bad = [stage for stage in stages if not stage.good]
    verdict = "everything passed" if not bad else \
        "not everything passed: " + ", ".join(f"{stage.name} {stage.status}" for stage in bad)
    rows = [f"| {s.name} | {s.status} | {s.seconds:.1f} s | {s.note} |" for s in stages]
    failed = [f"{job.name}: {job.note}" for job in jobs if not job.good]
    text = [f"# {facts.gpu}, {facts.date}", "", f"{verdict[0].upper()}{verdict[1:]}.", "",
            f"* GPU {facts.gpu}, driver {facts.driver}" + (f", {facts.toolkit}" if facts.toolkit else ""),
            f"* commit {facts.commit}", f"* `{facts.command}`, {facts.seconds:.0f} s in all", "",
            "| stage | outcome | time | |", "| --- | --- | --- | --- |", *rows]
    text += bullets("Programs that did not pass", failed)
    text += bullets("Memory", lines_marked(jobs, "memory"))
    text += bullets("Losses on the CPU and on CUDA", lines_marked(jobs, "losses"))
    text += bullets("Programs", [f"{job.name}: {job.seconds:.1f} s{', ' + job.note if job.note else ''}"
                                 for job in jobs if job.good])
    if ledger:
        text += ["", ledger]
    return "\n".join(text) + "\n"
