#!/usr/bin/env python3
"""Failures of `mpirun -n N learn train`, and other commands: ranks.py LEARN [MPIRUN] [--only PATTERN] [--show].

Each case injects a failure and checks what the user reads, mpirun's exit code, the time, and that the last checkpoint is
whole and loads. Prints a table of all cases, and what failed; exit status 1 then.
"""
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import harness
from launches import (CHECKPOINT, DATA, DIVERGED, ENDLESS, INTERNAL, IO_ERROR, LIMIT, OUT_OF_MEMORY, RANKS, TINY, USAGE, Launch, Suite,
                      named)
from ranks_commands import COMMAND_CASES

# A run that several numbers of ranks continue, 8 batches an epoch.
CONTINUED = ("--data synthetic10 --train-limit 192 --valid-limit 32 --batch-size 24 --epochs 10 --threads 1 --workers 0 --no-plots --no-report "
             "--no-winograd").split()


# Each case gets the suite and an empty folder.


def killed(rank):
    def case(suite, folder):
        launch = Launch(suite, folder)
        os.kill(launch.wait_for_epochs(2)[rank], signal.SIGKILL)
        suite.judge(f"SIGKILL of rank {rank}", launch, 137, rf"rank {rank} with PID \d+ on node \S+ exited on\s+signal 9", checkpoint="loads")
        suite.check(f"SIGKILL of rank {rank}: 'learn runs' says gone", "gone" in suite.alone("runs", cwd=folder)[1])
    return case


def stopped(rank, ranks):
    def case(suite, folder):
        launch = Launch(suite, folder, ranks=ranks, more=["--rank-timeout", "2"])
        os.kill(launch.wait_for_epochs(2)[rank], signal.SIGSTOP)
        suite.judge(f"SIGSTOP of rank {rank} of {ranks}", launch, RANKS,
                    rf"error: {named('.')}: {named(rank)} (did not come to .* within 2 s|stopped during .*: nothing came for 2 s, and no answer)",
                    checkpoint="loads")
    return case


def stopped_in_backward(suite, folder):
    """The backward pass takes most of the time, with many sums."""
    launch = Launch(suite, folder, ranks=3, words=[*ENDLESS, "--model", "resnet9:width=8", "--bucket", "0.01"], more=["--rank-timeout", "2"])
    pid = launch.wait_for_epochs(1)[1]
    time.sleep(random.uniform(0, 0.3))
    os.kill(pid, signal.SIGSTOP)
    suite.judge("SIGSTOP of rank 1 of 3 in a step", launch, RANKS, rf"error: {named('.')}: {named(1)} (did not come to|stopped during) ")


def slow(suite, folder):
    launch = Launch(suite, folder, words=[*TINY, "--epochs", "20"], more=["--rank-timeout", "20"])
    pids = launch.wait_for_epochs(2)
    for rank in (1, 0):
        os.kill(pids[rank], signal.SIGSTOP)
        time.sleep(1)
        os.kill(pids[rank], signal.SIGCONT)
    suite.judge("SIGSTOP and SIGCONT within the deadline", launch, 0, never=["error"], checkpoint="loads", status="finished")


def thrown(suite, folder):
    launch = Launch(suite, folder, more=["--inject", "throw@10", "--rank-logs"])
    suite.judge("all ranks throw", launch, INTERNAL, rf"error: {named('.')}: .*inject", status="crashed")
    for log in ("run.log", "run.rank-001.log"):
        text = (launch.run / log).read_text()
        suite.check(f"all ranks throw: {log} has the error", text.count("error: inject: thrown at") == 1, text)


def killed_by_fault(suite, folder):
    suite.judge("all ranks get SIGKILL", Launch(suite, folder, more=["--inject", "kill@50"]), 137, "signal 9", checkpoint="loads")


def memory(suite, folder):
    limit = ["sh", "-c", 'ulimit -v 700000; exec "$0" "$@"']
    words = [*ENDLESS, "--model", "resnet9:width=128", "--batch-size", "64"]
    suite.judge("rank 1 is out of memory", Launch(suite, folder, {}, {"before": limit}, words=words), OUT_OF_MEMORY,
                rf"error: {named(1)}: .*memory")


def leaves(suite, folder):
    """The launcher sees how a shell ends, not its child."""
    hide = ["sh", "-c", '"$0" "$@"; exit 0']
    launch = Launch(suite, folder, {}, {"before": hide})
    os.kill(launch.wait_for_epochs(2)[1], signal.SIGKILL)
    suite.judge("rank 1 exits with 0", launch, None, "exited without calling", checkpoint="loads")


def images(folder):
    """Writes a folder data set."""
    for label in ("bright", "dark"):
        (folder / label).mkdir(parents=True)
        for i in range(24):
            level = 200 if label == "bright" else 40
            pixels = bytes((level + 7 * i + 13 * p) % 256 if p % 5 == 0 else level for p in range(8 * 8 * 3))
            (folder / label / f"{i}.ppm").write_bytes(b"P6 8 8 255\n" + pixels)


def two_folders(folder):
    places = []
    for name in ("a", "b"):
        images(folder / name / "images")
        places.append({"folder": folder / name})
    return places


OF_FILES = "--data ./images --val-split 0.25 --model mlp --batch-size 8 --threads 1 --workers 0 --no-plots --epochs 100000".split()


def damaged_image(suite, folder):
    places = two_folders(folder)
    for file in (folder / "b/images/dark").iterdir():
        file.write_bytes(b"P9" + file.read_bytes()[2:])
    launch = Launch(suite, folder, *places, words=[*OF_FILES, "--data", "./images:size=8,stream=true"])
    launch.run = folder / "a/runs/train"
    suite.judge("damaged images on rank 1", launch, DATA, rf"error: {named(1)}: .*\.ppm")


def warned(suite, folder):
    """All ranks find the damaged image."""
    images(folder / "images")
    (folder / "images/dark/3.ppm").write_text("nothing")
    words = [*OF_FILES, "--data", "./images:max_bad=0.1", "--epochs", "2"]
    suite.judge("warning of all ranks", Launch(suite, folder, words=words), 0, "warning", status="finished")


def other_data(suite, folder):
    places = two_folders(folder)
    file = folder / "b/images/dark/3.ppm"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    suite.judge("other data on rank 1", Launch(suite, folder, *places, words=OF_FILES), RANKS,
                rf"error: {named('.')}: {named(1)} has other options, data or another version than rank 0: 'training images", checkpoint="none")


def missing_data(suite, folder):
    places = two_folders(folder)
    shutil.rmtree(folder / "b/images")
    suite.judge("no data on rank 1", Launch(suite, folder, *places, words=OF_FILES), DATA, rf"error: {named(1)}: .*'./images' does not exist")


def no_data(suite, folder):
    suite.judge("no data on any rank", Launch(suite, folder, ranks=3, more=["--data", "./nowhere"]), DATA, "error: .*'./nowhere' does not exist")


def other_options(suite, folder):
    suite.judge("other options on rank 1", Launch(suite, folder, {}, {"words": [*ENDLESS, "--lr", "0.3"]}), RANKS,
                rf"error: {named('.')}: {named(1)} has other options.*'lr = \[0.3\]' there", checkpoint="none")


def wrong_option(suite, folder):
    suite.judge("unknown option on all ranks", Launch(suite, folder, ranks=3, more=["--bogus"]), USAGE, "unknown option '--bogus'")


def refused(suite, folder):
    suite.judge("--dry-run on all ranks", Launch(suite, folder, more=["--dry-run"]), USAGE, "error: .*--dry-run is for one process")


def copied(suite, folder):
    """A copy of the program and of its plug-in."""
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    plugin = pathlib.Path(suite.learn).parent.parent / "lib/liblearn_mpi.so"
    return pathlib.Path(shutil.copy(suite.learn, folder / "bin")), pathlib.Path(shutil.copy(plugin, folder / "lib"))


def other_version(suite, folder):
    """Another version is this one with another number in its bytes."""
    version = suite.alone("--version", cwd=folder)[1].split()[1]
    other = version[:-1] + ("8" if version[-1] == "9" else "9")
    program, _ = copied(suite, folder)
    program.write_bytes(program.read_bytes().replace(f"\0{version}\0".encode(), f"\0{other}\0".encode()))
    # Optimized code compares the plug-in's version with a number in an instruction, which is still the right one.
    suite.judge("another version on rank 1", Launch(suite, folder, {}, {"program": program}), (RANKS, USAGE),
                rf"error: {named('.')}: {named(1)} has other options.*'version {re.escape(other)}' there|"
                rf"error: {named(1)}: .* has version {re.escape(version)}, but this program has {re.escape(other)}")


def no_plugin(suite, folder):
    program, plugin = copied(suite, folder)
    plugin.unlink()
    suite.judge("no plug-in", Launch(suite, folder, {"ranks": 2, "program": program}), USAGE,
                "but this program was built without MPI: install libopenmpi-dev", checkpoint="none")
    plugin.write_text("not a library")
    suite.judge("damaged plug-in", Launch(suite, folder, {"ranks": 2, "program": program}), USAGE, "but liblearn_mpi.so cannot be loaded")


def signalled(number, times=1):
    """mpirun gives the ranks 0.25 s, or 2 s in version 4, which may be too short for the state."""
    def case(suite, folder):
        launch = Launch(suite, folder)
        launch.wait_for_epochs(2)
        for _ in range(times):
            launch.process.send_signal(number)
            time.sleep(0.05)
        what = f"{number.name} to mpirun" + (", twice" if times > 1 else "")
        suite.judge(what, launch, None, checkpoint="loads", within=10, never=["second signal"])
    return case


def stopped_by_launcher(suite, folder):
    launch = Launch(suite, folder)
    launch.wait_for_epochs(2)
    launch.process.send_signal(signal.SIGUSR2)
    suite.judge("SIGUSR2 to mpirun", launch, 128 + signal.SIGUSR2, "interrupted after a whole batch", checkpoint="loads", status="interrupted")


def signalled_rank(rank):
    def case(suite, folder):
        launch = Launch(suite, folder)
        os.kill(launch.wait_for_epochs(2)[rank], signal.SIGTERM)
        suite.judge(f"SIGTERM to rank {rank} only", launch, 143, "interrupted after a whole batch", checkpoint="loads", status="interrupted")
    return case


def save(suite, folder):
    launch = Launch(suite, folder, words=[*TINY, "--epochs", "20", "--save-every", "0"])
    launch.wait_for_epochs(2)
    launch.process.send_signal(signal.SIGUSR1)
    suite.judge("SIGUSR1 to mpirun", launch, 0, "saved the state after batch", checkpoint="loads", status="finished")


def launcher_killed(suite, folder):
    launch = Launch(suite, folder)
    launch.wait_for_epochs(2)
    launch.process.kill()
    suite.judge("SIGKILL of mpirun", launch, -9, checkpoint="loads")


def file_limit(suite, folder):
    """Set when MPI has its files."""
    launch = Launch(suite, folder)
    resource.prlimit(launch.wait_for_epochs(2)[0], resource.RLIMIT_FSIZE, (200_000, 200_000))
    suite.judge("ulimit -f on rank 0", launch, IO_ERROR, rf"error: {named(0)}: .*File too large", checkpoint="loads", status="crashed")


def full_disk(suite, folder):
    if os.geteuid() != 0:
        return
    (folder / "full").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder / "full"], capture_output=True, check=False).returncode != 0:
        return
    try:
        suite.judge("full disk on rank 0", Launch(suite, folder, more=["--model", "linear", "--out", "full"]), IO_ERROR,
                    rf"error: {named(0)}: .*disk full")
    finally:
        subprocess.run(["umount", folder / "full"], check=False)


def unwritable(suite, folder):
    (folder / "file").write_text("")
    suite.judge("output folder cannot be made", Launch(suite, folder, more=["--out", "file/runs"]), IO_ERROR, rf"error: {named(0)}: .*'file")


def diverged(suite, folder):
    suite.judge("infinite loss", Launch(suite, folder, more=["--lr", "1e30", "--epochs", "50"]), DIVERGED, "diverged: ", status="diverged")


def long_report(suite, folder):
    """Rank 0 measures the model after the training, longer than ranks wait for each other."""
    words = [*TINY, "--epochs", "1", "--train-limit", "16", "--valid-limit", "1200", "--model", "resnet9:width=24"]
    suite.judge("report longer than the deadline", Launch(suite, folder, words=words, more=["--rank-timeout", "1"]), 0, never=["error"],
                checkpoint="loads", status="finished")


def at_random(number, times):
    """Ends a run by a signal to a rank, and resumes it, which ends with the bits of an uninterrupted run."""
    def case(suite, folder):
        (folder / "straight").mkdir()
        straight = Launch(suite, folder / "straight", words=CONTINUED, more=["--model", "mlp"])
        what = f"{number.name} at a random moment"
        suite.judge(f"{what}: uninterrupted", straight, 0, status="finished")
        for i in range(times):
            at = folder / str(i)
            at.mkdir()
            launch = Launch(suite, at, words=CONTINUED, more=["--model", "mlp", "--save-every", "1"])
            pids = launch.wait_for_epochs(2)
            seconds, rank = random.uniform(0, 0.5), random.randint(0, 1)
            time.sleep(seconds)
            if rank in pids and pathlib.Path(f"/proc/{pids[rank]}").exists():
                os.kill(pids[rank], number)
            code = 137 if number == signal.SIGKILL else 143
            got, _ = suite.judge(f"{what}: rank {rank} after {seconds:.3f} s", launch, (code, 0), checkpoint="loads")
            if got != 0:
                resumed = Launch(suite, at, words=["--resume", "runs/train"])
                suite.judge(f"{what}: resumed", resumed, 0, status="finished", checkpoint="loads")
            same = harness.result_of(str(straight.run)) == harness.result_of(str(launch.run))
            suite.check(f"{what}: equal bits after {seconds} s, rank {rank}", same)
    return case


def hangs_in_data(suite, folder):
    """Rank 1 has an image so large that there is time to stop it."""
    places = two_folders(folder)
    with open(folder / "b/images/dark/3.ppm", "wb") as file:
        file.write(b"P6 9000 9000 255\n")
        file.truncate(9000 * 9000 * 3 + 17)
    launch = Launch(suite, folder, *places, words=OF_FILES, more=["--data", "./images:size=8", "--rank-timeout", "2"])
    while launch.process.poll() is None and time.monotonic() < launch.begin + LIMIT:
        pid = launch.pids().get(1)
        if pid and int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) > 25_000:  # pages
            os.kill(pid, signal.SIGSTOP)
            break
        time.sleep(0.005)
    suite.judge("SIGSTOP of rank 1 while it reads images", launch, RANKS,
                rf"error: {named(0)}: {named(1)} did not come to the comparison of options and data within 2 s")


def hangs_before_mpi(rank):
    def case(suite, folder):
        hangs = {"before": ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh"]}
        launch = Launch(suite, folder, *([hangs, {}, {}] if rank == 0 else [{"ranks": rank}, hangs]), more=["--rank-timeout", "2"])
        suite.judge(f"rank {rank} hangs before it starts", launch, RANKS,
                    rf"{named(1 if rank == 0 else 0)}: not all processes of Open MPI started MPI within 2 s")
    return case


def resumed_without_run(suite, folder):
    """The run is in the folder of rank 0 only, as on a disk that hosts do not share."""
    for name in ("a", "b"):
        (folder / name).mkdir()
    places = [{"folder": folder / "a"}, {"folder": folder / "b"}]
    launch = Launch(suite, folder, *places)
    launch.run = folder / "a/runs/train"
    for pid in launch.wait_for_epochs(2).values():
        os.kill(pid, signal.SIGTERM)
    suite.judge("rank 1 in another folder, SIGTERM to all ranks", launch, 143, status="interrupted", checkpoint="loads")
    launch = Launch(suite, folder, *places, words=["--resume", "runs/train"])
    launch.run = folder / "a/runs/train"
    suite.judge("--resume without the run on rank 1", launch, None, rf"error: {named(1)}: ", checkpoint="loads", status="interrupted")


def damaged_checkpoint(suite, folder):
    launch = Launch(suite, folder, words=[*TINY, "--epochs", "2"])
    launch.process.wait(LIMIT)
    record = launch.run / "run.json"
    record.write_text(record.read_text().replace('"finished"', '"interrupted"'))
    for name in ("last", "last.prev"):
        file = launch.run / f"weights/{name}.safetensors"
        if file.exists():
            file.write_bytes(file.read_bytes()[:-100])
    file.with_name("best.safetensors").unlink()
    launch = Launch(suite, folder, words=["--resume", "runs/train"])
    launch.run = folder / "none"
    suite.judge("damaged checkpoint", launch, CHECKPOINT, rf"error: {named(0)}: ")


def losses_of(run):
    return [(float(row["train_loss"]), float(row["valid_loss"])) for row in harness.table_of(str(run / "results.csv"))]


def continued(numbers, *model, exact):
    """Each launch but the last is interrupted in an epoch, and the next continues it with its number of ranks.

    The ranks sleep in the middle of the third, fifth and seventh epoch, so that the signal comes there. It goes to the ranks, as srun
    sends it, because mpirun kills them after 2 s.
    """
    def case(suite, folder):
        for name in ("straight", "parts"):
            (folder / name).mkdir()
        what = "resumed with " + " -> ".join(map(str, numbers)) + " ranks"
        straight = Launch(suite, folder / "straight", ranks=numbers[0], words=[*CONTINUED, *model])
        suite.judge(f"{what}: uninterrupted", straight, 0)
        words = [*CONTINUED, *model, "--inject", "slow@20:1s,slow@36:1s,slow@52:1s"]
        for i, ranks in enumerate(numbers):
            launch = Launch(suite, folder / "parts", ranks=ranks, words=words)
            if i + 1 < len(numbers):
                for pid in launch.wait_for_epochs(2).values():
                    os.kill(pid, signal.SIGTERM)
                _, output = suite.judge(f"{what}: part {i + 1}, SIGTERM to all ranks", launch, 143, status="interrupted", checkpoint="loads")
                batch = harness.read_checkpoint(str(launch.run / "weights/last.safetensors"))[0]["state.clocks.batch"]
                suite.check(f"{what}: it is interrupted in an epoch, not after batch {batch}", int(batch) % 8 != 0, output)
            else:
                suite.judge(f"{what}: part {i + 1}", launch, 0, status="finished", checkpoint="loads")
            words = ["--resume", "runs/train"]
        a, b = losses_of(straight.run), losses_of(launch.run)
        if exact:
            same = harness.result_of(str(straight.run)) == harness.result_of(str(launch.run))
            suite.check(f"{what}: equal bits", same, f"{a}\n{b}")
        else:
            far = max(abs(x / y - 1) for one, two in zip(a, b) for x, y in zip(one, two))
            suite.check(f"{what}: equal losses", len(a) == len(b) and far < 1e-4, f"{far}\n{a}\n{b}")
            print(f"{what}: losses differ by {far:.1e} at most", flush=True)
    return case


def short_grace(suite, folder):
    """By default mpirun of Open MPI 4 kills 2 seconds after SIGTERM."""
    words = [*TINY, "--epochs", "2", "--inject", "slow@3:2.5s"]
    if suite.version == 4:
        launch = Launch(suite, folder, words=words)
        suite.judge("a long update, 2 s of grace", launch, 0, r"\[ranks\] an update and a save take \d+\.\d s, .* 2 s after SIGTERM", status="finished")
        suite.check("a long update, 2 s of grace: warned once", launch.text().count("[ranks]") == 1, launch.text())
    (folder / "long").mkdir()
    launch = Launch(suite, folder / "long", words=words, options=["--mca", "odls_base_sigkill_timeout", "60"])
    suite.judge("a long update, 60 s of grace", launch, 0, never=["warning"], status="finished")


def rolled_back(suite, folder):
    words = [*TINY, "--epochs", "8", "--lr", "1e4", "--nan", "rollback"]
    (folder / "alone").mkdir()
    _, alone = suite.alone("train", *words, cwd=folder / "alone")
    launch = Launch(suite, folder, words=words)
    suite.judge("rollbacks of all ranks", launch, DIVERGED, r"\[rollback\] 3 of 3: back to the state after", status="diverged")
    steps = [re.findall(r"\[rollback\].*", text) for text in (alone, launch.text())]
    suite.check("rollbacks of all ranks: as in one process", len(steps[0]) == 3 and steps[0] == steps[1], f"{steps}")


CASES = [
    continued([2, 1, 3, 4], "--model", "mlp", exact=False),
    continued([2, 2], "--model", "resnet9:width=4", "--sync-bn", exact=True),
    long_report, slow, stopped(1, 2), stopped(0, 2), stopped(2, 3), stopped_in_backward, hangs_in_data, hangs_before_mpi(0),
    hangs_before_mpi(2), killed(1), killed(0), killed_by_fault, at_random(signal.SIGKILL, 2), at_random(signal.SIGTERM, 2), leaves,
    thrown, memory, damaged_image, warned, other_data, missing_data, no_data, other_options, wrong_option, refused, other_version,
    no_plugin, signalled(signal.SIGTERM), signalled(signal.SIGINT), signalled(signal.SIGINT, 2), stopped_by_launcher,
    signalled_rank(1), signalled_rank(0), save, launcher_killed, resumed_without_run, damaged_checkpoint, file_limit, full_disk,
    unwritable, diverged, rolled_back, short_grace, *COMMAND_CASES,
]


Suite(__doc__.splitlines()[0]).play(CASES, at_once=4)
