#!/usr/bin/env python3
"""Trains on two hosts, which are network namespaces of this machine: two_hosts.py [LEARN].

The ranks talk over TCP, as they do between machines. Compares the training with one process, kills a rank, cuts the network,
and ends and resumes a run. Without LEARN the program of build/release. Needs root, iproute2 and Open MPI. Prints a table; exit
status 1 if a line of it is not as it must be.
"""
import contextlib
import csv
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOSTS = {"hosta": "10.77.0.1", "hostb": "10.77.0.2"}
NETWORK = "net0"  # the interface, on both
LIMIT = 120  # seconds; all cases take less than 20, but machines are busy
TRAIN = ("train --data synthetic10 --model mlp --train-limit 600 --valid-limit 200 --batch-size 60 --threads 1 --no-plots "
         "--no-report --no-progress").split()
ENDLESS = [*TRAIN, "--epochs", "100000", "--rank-timeout", "3"]
# Open MPI starts its daemon on another host by this instead of ssh: AGENT ADDRESS COMMAND...
AGENT = """#!/bin/sh
address=$1; shift
case $address in {cases} esac
exec ip netns exec learn-$host unshare --uts sh -c "hostname $host; $*"
"""


def call(*words):
    subprocess.run(words, check=True)


@contextlib.contextmanager
def two_hosts():
    names = list(HOSTS)
    try:
        for name in names:
            call("ip", "netns", "add", f"learn-{name}")
        ends = [("name", NETWORK, "netns", f"learn-{name}") for name in names]
        call("ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for name in names:
            inside = ("ip", "-n", f"learn-{name}")
            call(*inside, "addr", "add", f"{HOSTS[name]}/24", "dev", NETWORK)
            call(*inside, "link", "set", NETWORK, "up")
            call(*inside, "link", "set", "lo", "up")
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", f"learn-{name}"], check=False)


class Launch:
    """mpirun on the first host, one rank on each."""

    def __init__(self, learn, folder, words, ranks_per_host=1):
        agent = folder / "agent"
        agent.write_text(AGENT.format(cases=" ".join(f"{address}) host={name};;" for name, address in HOSTS.items())))
        agent.chmod(0o755)
        first = next(iter(HOSTS))
        hosts = ",".join(f"{address}:{ranks_per_host}" for address in HOSTS.values())
        command = (f"hostname {first}; exec mpirun --allow-run-as-root --bind-to none --oversubscribe --mca plm_rsh_agent {agent} "
                   f"--mca btl tcp,self --mca btl_tcp_if_include {NETWORK} --mca oob_tcp_if_include {NETWORK} "
                   f"--host {hosts} -n {2 * ranks_per_host} {learn} {' '.join(words)}")
        self.log = folder / "log"
        self.folder = folder
        self.began = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", f"learn-{first}", "unshare", "--uts", "sh", "-c", command],
                                            cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self):
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        return self.process.returncode

    def wait_for_epochs(self, count):
        results = self.folder / "runs/train/results.csv"
        while self.process.poll() is None and time.monotonic() - self.began < LIMIT:
            if results.exists() and len(results.read_text().splitlines()) > count:
                return
            time.sleep(0.05)
        raise SystemExit(f"error: the training did not come to epoch {count}:\n{self.text()}")

    def text(self):
        return self.log.read_text(errors="replace")

    @staticmethod
    def processes(host):
        listed = subprocess.run(["ip", "netns", "pids", f"learn-{host}"], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [int(pid) for pid in listed.split()]

    def pids(self, host):
        """The ranks on a host."""
        found = []
        for pid in self.processes(host):
            with contextlib.suppress(FileNotFoundError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "learn":
                    found.append(pid)
        return found


def losses(folder):
    with open(folder / "runs/train/results.csv", newline="") as file:
        return [float(row["train_loss"]) for row in csv.DictReader(file)]


class Table:
    def __init__(self):
        self.good = True

    def row(self, what, launch, seen, as_it_must_be):
        seconds = time.monotonic() - launch.began
        code = launch.process.returncode
        print(f"| {what} | {seen} | {'-' if code is None else code} | {seconds:.1f} s |", flush=True)
        if not as_it_must_be:
            self.good = False
            print(f"   not as it must be:\n{launch.text()}", flush=True)


def same_training(learn, folder, table):
    alone = folder / "alone"
    alone.mkdir()
    subprocess.run([learn, *TRAIN, "--epochs", "3"], cwd=alone, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for ranks_per_host in (1, 2):
        place = folder / f"ranks{ranks_per_host}"
        place.mkdir()
        launch = Launch(learn, place, [*TRAIN, "--epochs", "3"], ranks_per_host)
        launch.wait()
        worst = max(abs(a / b - 1) for a, b in zip(losses(place), losses(alone))) if launch.process.returncode == 0 else 1
        ranks = re.search(r"\d ranks on \d hosts", launch.text())
        # f32 sums in another order; without BatchNorm and convolutions nothing amplifies them.
        table.row(f"{2 * ranks_per_host} ranks", launch, f"{ranks and ranks[0]}, losses of 3 epochs within {max(worst, 1e-6):.0e} of one process",
                  worst < 1e-5 and ranks and ranks[0] == f"{2 * ranks_per_host} ranks on 2 hosts")


def killed(learn, folder, table):
    launch = Launch(learn, folder, ENDLESS)
    launch.wait_for_epochs(2)
    launch.began = time.monotonic()
    os.kill(launch.pids("hostb")[0], signal.SIGKILL)
    code = launch.wait()
    named = re.search(rf"process rank 1 with PID \d+ on node ({HOSTS['hostb']}|hostb) exited on\s+signal 9", launch.text())
    table.row("SIGKILL on hostb", launch, f"'{' '.join(named[0].split())}'" if named else "no rank is named", code == 137 and named)


def cut_off(learn, folder, table):
    """The ranks of hosta end by their deadline. mpirun itself waits for its daemon on hostb, until TCP gives up."""
    launch = Launch(learn, folder, ENDLESS)
    launch.wait_for_epochs(2)
    launch.began = time.monotonic()
    call("ip", "-n", "learn-hostb", "link", "set", NETWORK, "down")
    (rank,) = launch.pids("hosta")
    while pathlib.Path(f"/proc/{rank}").exists() and time.monotonic() - launch.began < LIMIT:
        time.sleep(0.05)
    ended = time.monotonic() - launch.began < LIMIT
    named = re.search(r"error: rank 0 \(hosta\): rank 1 \(hostb\) [^\n]*", launch.text())
    table.row("the network ends", launch, f"'{named[0]}'" if named else "no rank is named", ended and named)
    for host in HOSTS:
        for pid in launch.processes(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    launch.wait()
    call("ip", "-n", "learn-hostb", "link", "set", NETWORK, "up")


def resumed(learn, folder, table):
    words = [*TRAIN, "--epochs", "60", "--resume", "auto"]
    launch = Launch(learn, folder, words)
    launch.wait_for_epochs(3)
    launch.process.send_signal(signal.SIGTERM)
    launch.wait()
    before = len(losses(folder))
    saved = (folder / "runs/train/weights/last.safetensors").exists()
    again = Launch(learn, folder, words)
    again.wait()
    total = len(losses(folder))
    table.row("SIGTERM to mpirun, and the same command again", again, f"epochs {before}, then {total} of 60",
              saved and before < 60 and total == 60 and again.process.returncode == 0 and "resumed after" in again.text())


def main():
    learn = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin/learn").resolve()
    if os.geteuid() != 0:
        sys.exit("error: only root makes network namespaces")
    if not learn.exists():
        sys.exit(f"error: there is no '{learn}': build it, or give the program")
    table = Table()
    print("| case | seen | exit code of mpirun | time |\n| --- | --- | --- | --- |")
    with two_hosts(), tempfile.TemporaryDirectory(prefix="learn-hosts-") as place:
        for case in (same_training, killed, cut_off, resumed):
            folder = pathlib.Path(place) / case.__name__
            folder.mkdir()
            case(learn, folder, table)
    return 0 if table.good else 1


if __name__ == "__main__":
    sys.exit(main())
