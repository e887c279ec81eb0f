"""Launches of several `learn` by mpirun, and a suite of failures that are injected into them."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from fault_cases import without_launcher  # noqa: E402

INTERNAL, USAGE, DATA, CHECKPOINT, IO_ERROR, OUT_OF_MEMORY, DIVERGED, RANKS = 1, 2, 3, 4, 5, 6, 7, 9  # exit codes
LIMIT = 60  # seconds of a case; the machine may be busy
# Any user, any number of ranks, no binding to cores that other tests use, and no search for networks.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none",
            "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
TINY = ("--data synthetic10 --train-limit 64 --valid-limit 32 --model mlp --batch-size 16 --threads 1 --workers 0 --no-plots --no-winograd "
        "--save-every 2").split()
ENDLESS = [*TINY, "--epochs", "100000"]


def named(rank):
    """An expression for a rank and its host."""
    return rf"rank {rank} \(\S+\)"


class Launch:
    """A started mpirun. `apps` are commands with their number of ranks, each with words before `learn` and a folder."""

    def __init__(self, suite, folder, *apps, ranks=2, words=ENDLESS, more=(), options=(), command="train"):
        self.suite, self.folder = suite, folder
        self.run = folder / "runs/train"
        self.rows_before = self.epochs()
        self.ended = None
        commands = []
        for app in apps or [{"ranks": ranks}]:
            rank = [*app.get("before", ()), str(app.get("program", suite.learn)), command, *app.get("words", words), *more]
            commands += [f"cd {shlex.quote(str(app.get('folder', folder)))} && exec {shlex.join(rank)};;"] * app.get("ranks", 1)
        # By a script, because Open MPI 5.0.7 crashes if it is given several programs.
        script = folder / "rank.sh"
        script.write_text("case ${OMPI_COMM_WORLD_RANK:-$RANK} in\n" + "\n".join(f"{i}) {line}" for i, line in enumerate(commands)) + "\nesac\n")
        line = [*self.launcher(len(commands), options), "sh", str(script)]
        self.output = folder / "output"
        self.begin = time.monotonic()
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(line, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                            env={**suite.environment, "LEARN_TEST_LAUNCH": str(folder)}, start_new_session=True)

    def launcher(self, ranks, options):
        """The words that start a command in each rank."""
        return [self.suite.mpirun, *options, "-n", str(ranks)]

    def epochs(self):
        """Rows in the table of results."""
        try:
            return len((self.run / "results.csv").read_text().splitlines()) - 1
        except OSError:
            return 0

    def text(self):
        return self.output.read_text(errors="replace")

    def pids(self):
        """The processes of the ranks that run `learn`, by rank."""
        found = {}
        token = f"LEARN_TEST_LAUNCH={self.folder}".encode()
        for process in pathlib.Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                words = (process / "environ").read_bytes().split(b"\0")
                if token in words and (process / "comm").read_text().strip() == "learn":
                    for word in words:
                        if match := re.match(rb"(?:OMPI_COMM_WORLD_RANK|PMI_RANK|RANK)=(\d+)$", word):
                            found[int(match[1])] = int(process.name)
            except OSError:
                pass
        return found

    def wait_for_epochs(self, epochs):
        """Waits until the launch has added that many rows to the table of results. Returns the processes of the ranks."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < end:
            if self.epochs() >= self.rows_before + epochs:
                break
            time.sleep(0.01)
        else:
            raise RuntimeError(f"no {epochs} epochs: {self.text()}")
        self.begin = time.monotonic()  # seconds count from the failure
        return self.pids()

    def gone(self):
        """Whether all ranks end soon."""
        end = time.monotonic() + LIMIT / 2
        while (left := self.pids()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left.values():
            os.kill(pid, signal.SIGKILL)
        return not left

    def end(self):
        """Returns exit code, output and seconds since the failure."""
        if self.ended is None:
            self.ended = self.wait()
        return self.ended

    def wait(self):
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            for pid in self.pids().values():
                os.kill(pid, signal.SIGKILL)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return "hangs", self.text(), LIMIT
        return self.process.returncode, self.text(), time.monotonic() - self.begin


class Suite:
    def __init__(self, about):
        parser = argparse.ArgumentParser(description=about)
        parser.add_argument("learn", help="the program")
        parser.add_argument("mpirun", nargs="?", default="mpirun", help="the launcher of Open MPI")
        parser.add_argument("--only", default="", help="regular expression for names of cases")
        parser.add_argument("--show", action="store_true", help="all output")
        self.options = parser.parse_args()
        self.learn, self.mpirun = os.path.realpath(self.options.learn), self.options.mpirun
        self.environment = without_launcher() | OPEN_MPI
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="learn ranks "))
        self.rows, self.failures, self.lock = [], [], threading.Lock()
        if shutil.which(self.mpirun) is None:
            self.skip(f"there is no {self.mpirun}")
        version = subprocess.run([self.mpirun, "--version"], capture_output=True, text=True, check=False).stdout
        if "Open MPI" not in version and "open-mpi" not in version:
            self.skip(f"exit codes and signals are those of Open MPI, not of {version.splitlines()[:1]}")
        self.version = int(re.search(r"\b\d+", version)[0])

    def play(self, cases, at_once):
        """Plays the cases that --only chooses, each in a folder of its number, several at once because they mostly wait; exits."""

        def play(i):
            folder = self.folder / str(i)
            folder.mkdir()
            try:
                cases[i](self, folder)
            except Exception as problem:  # one case must not hide the others
                self.check(f"case {i} ({cases[i].__qualname__}): {problem!r}", False)

        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for done in [pool.submit(play, i) for i, case in enumerate(cases) if re.search(self.options.only, case.__qualname__)]:
                done.result()
        self.conclude()

    def skip(self, why):
        shutil.rmtree(self.folder)
        print(f"skipped: {why}")
        sys.exit(harness.SKIPPED)

    def alone(self, *words, cwd):
        """Runs `learn` without a launcher."""
        done = subprocess.run([self.learn, *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False,
                              env=self.environment)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def check(self, what, ok, shown=""):
        if not ok:
            with self.lock:
                self.failures.append(what)
                print(f"FAILED: {what}\n{shown}", flush=True)
        return ok

    def checkpoint_of(self, run, what, output):
        """Checks the last checkpoint and the record of a run. Returns a word for the table."""
        if not (run / "weights/last.safetensors").exists():
            return "none"
        try:
            harness.whole_states(str(run / "weights"))
        except ValueError as problem:
            self.check(f"{what}: the checkpoint is whole", False, f"{problem}\n{output}")
            return "damaged"
        status, shown = self.alone("eval", str(run), cwd=run.parent.parent)
        self.check(f"{what}: the checkpoint loads", status == 0, shown)
        return "loads"

    def judge(self, what, launch, code, *texts, within=20, checkpoint=None, status=None, never=()):
        """Checks the end of a launch: exit codes, texts (regular expressions, each once), seconds, and the run that is left."""
        codes = code if isinstance(code, tuple) else (code,)
        got, output, seconds = launch.end()
        self.check(f"{what}: exit code {code}", codes == (None,) or got in codes, f"{got}\n{output}")
        for text in texts:
            self.check(f"{what}: once '{text}'", len(re.findall(text, output)) == 1, output)
        for text in (*never, "This is a bug", r"(?m)^\[\w+:\d+\] \[ ?\d\]", "std::", "ranks differ"):
            self.check(f"{what}: not '{text}'", not re.search(text, output), output)
        self.check(f"{what}: within {within} s", seconds < within, f"{seconds:.1f} s\n{output}")
        self.check(f"{what}: no rank goes on", launch.gone(), output)
        left = self.checkpoint_of(launch.run, what, output)
        if checkpoint is not None:
            self.check(f"{what}: checkpoint {checkpoint}", left == checkpoint, f"{left}\n{output}")
        record = harness.record_of(launch.run)["status"] if (launch.run / "run.json").exists() else "-"
        if status is not None:
            self.check(f"{what}: run.json says {status}", record == status, f"{record}\n{output}")
        lines = [line for line in output.splitlines() if re.search(r"^(error:|diverged:|interrupted|saved|(mpirun|prterun) noticed)|exited without", line)]
        shown = "; ".join(lines).replace(str(self.folder), "")
        with self.lock:
            self.rows.append((what, shown or "-", got, seconds, left, record))
            if self.options.show:
                print(f"--- {what}: {got} after {seconds:.1f} s, checkpoint {left}, {record}\n{output}", flush=True)
        return got, output

    def conclude(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        print("| failure | text | exit code | seconds | last checkpoint | run.json |\n| --- | --- | --- | --- | --- | --- |")
        for what, text, code, seconds, left, record in self.rows:
            print(f"| {what} | {text} | {code} | {seconds:.1f} | {left} | {record} |")
        print(f"FAILED: {len(self.failures)}" if self.failures else "all as promised")
        sys.exit(1 if self.failures else 0)
