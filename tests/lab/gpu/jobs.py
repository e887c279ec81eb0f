"""Runs programs in parallel, each with a time limit and a log, and returns their outcomes."""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time


@dataclasses.dataclass
class Job:
    """One program. `doctest`: it must say that it ran test cases."""
    name: str
    command: list
    timeout: float = 120
    environment: dict = dataclasses.field(default_factory=dict)
    doctest: bool = False
    when_late: str = "failed"  # what it is if its time runs out
    exit_status: int = 0  # what it must end with


@dataclasses.dataclass
class Outcome:
    """Outcome of a job or a stage: passed, failed, missing (a tool is not installed), not run, or skipped (this machine cannot run
    it, and need not)."""
    name: str
    status: str
    seconds: float = 0
    note: str = ""
    output: str = ""

    @property
    def good(self):
        return self.status == "passed"

    @property
    def bad(self):
        return not self.good and self.status != "skipped"


def cases_run(output):
    """Test cases and checks, by doctest's last lines; None if nothing was checked."""
    cases = re.search(r"test cases:\s*(\d+) \|\s*(\d+) passed", output)
    checks = re.search(r"assertions:\s*(\d+)", output)
    return (int(cases[1]), int(checks[1])) if cases and checks and int(cases[1]) and int(checks[1]) else None


def judge(job, code, seconds, output):
    if code is None:
        return Outcome(job.name, job.when_late, seconds, f"stopped after {seconds:.0f} s", output)
    if code != job.exit_status:
        wanted = f", not {job.exit_status}" if job.exit_status else ""
        return Outcome(job.name, "failed", seconds, f"exit status {code}{wanted}", output)
    if not job.doctest:
        return Outcome(job.name, "passed", seconds, "", output)
    run = cases_run(output)
    if run is None:
        return Outcome(job.name, "failed", seconds, "no test case ran", output)
    return Outcome(job.name, "passed", seconds, f"{run[0]} cases, {run[1]} checks", output)


def run(job, logs, deadline=None):
    """Runs one job to its end or its limit; its output is in `logs` too."""
    began = time.monotonic()
    limit = job.timeout if deadline is None else min(job.timeout, deadline - began)
    if limit <= 0:
        return Outcome(job.name, "not run", 0, "the time was up")
    path = pathlib.Path(logs) / (re.sub(r"[^\w.-]+", "-", job.name) + ".log")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("w") as log:
            process = subprocess.Popen(job.command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **job.environment}, start_new_session=True)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
    except OSError as error:
        return Outcome(job.name, "failed", 0, f"{pathlib.Path(job.command[0]).name}: {error.strerror}")
    return judge(job, code, time.monotonic() - began, path.read_text(errors="replace"))


def run_all(jobs, logs, at_once=1, deadline=None):
    """The outcomes in the order of the jobs; `at_once` of them run side by side."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda job: run(job, logs, deadline), jobs))
