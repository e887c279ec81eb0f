"""Cases that start ranks under faults: each has an end in time, an exit code, and an output that names the cause.

With SHOW in the environment all output is printed, otherwise only what failed.
"""
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

INTERNAL, USAGE, DATA, RANKS = 1, 2, 3, 9  # exit codes
ANY = None  # the exit code is the MPI's
LIMIT = 60  # seconds; the machine may be busy
failures = []


def check(what, ok, shown=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}", flush=True)


def without_launcher():
    """The environment, without the variables by which a launcher names a rank."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "SLURM", "OMPI_COMM", "MV2", "WORLD_SIZE"))}


def start(command, **variables):
    return subprocess.Popen(command, env={**without_launcher(), **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)


def judge(what, process, code, *texts, never="ended well"):
    """Checks the end, the exit code, and that each text, a regular expression, is in the output, and `never`, another one, is not."""
    begin = time.monotonic()
    try:
        output = process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
        check(f"{what}: ends within {LIMIT} s", False, output)
    status = process.returncode
    check(f"{what}: exit code {code}", code in (status, ANY), f"{status}\n{output}")
    for text in texts:
        check(f"{what}: {text}", re.search(text, output), output)
    check(f"{what}: not '{never}'", not re.search(never, output), output)
    if os.environ.get("SHOW"):
        print(f"--- {what}: {status} after {time.monotonic() - begin:.1f} s\n{output}", flush=True)


def judge_stopped(what, process, code, *texts, **more):
    """Judges ranks of which one prints 'stopping PID' and stops itself: the others end without it, and the launcher kills it."""
    line = ""
    while line is not None and not line.startswith("stopping"):
        line = process.stdout.readline() or None
    check(f"{what}: the rank stops", line is not None)
    judge(what, process, code, *texts, **more)
    if line:
        pid = int(line.split()[1])
        for _ in range(100):
            if not Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        check(f"{what}: the launcher ends the stopped rank", False)


def play_all(cases, at_once):
    """Calls all cases, several at once because most of the time passes in waits, and exits with the verdict."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(case) for case in cases]:
            done.result()
    conclude()


def conclude(status=0):
    """Exits with 1 if a check failed, otherwise with `status`."""
    print("FAILED" if failures else "all as promised")
    sys.exit(1 if failures else status)
