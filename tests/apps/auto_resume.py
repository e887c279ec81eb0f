#!/usr/bin/env python3
"""`learn train --resume auto`, the command of jobs that are started again: auto_resume.py PATH/TO/learn. With the path of mpirun in
MPIRUN, also with several processes. Prints what failed; exit status 1 then.
"""

import os
import shlex
import shutil
import signal
import time

from harness import TINY, Trial, record_of, result_of

trial = Trial(__doc__)
check = trial.check
MPIRUN = os.environ.get("MPIRUN")
JOB = ["train", *TINY, "--name", "job", "--resume", "auto"]


def without(words, option):
    at = words.index(option)
    return words[:at] + words[at + 2:]


def killed(where, *faults):
    """A job whose process is killed."""
    outcome = trial.run(*JOB, "--inject", ",".join(faults), cwd=where)
    check(outcome.status == -signal.SIGKILL, f"killed: {faults}", outcome)


def new_run():
    where = trial.fresh("new")
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 0 and record_of("new/runs/job")["epochs_done"] == 3, "a new run", outcome)
    before = record_of("new/runs/job")
    again = trial.run(*JOB, cwd=where)
    check(again.status == 0 and "'runs/job' is finished, there is nothing left to do" in again.out, "a finished run", again)
    check(record_of("new/runs/job") == before, "which stays as it is")
    check(sorted(os.listdir("new/runs")) == ["job", "latest"], "no second folder")
    check("resume" not in trial.run("train", *TINY, "--resume", "auto", "--print-config", cwd=where).out, "no key of the configuration")


def goes_on():
    where = trial.fresh("stopped")
    killed(where, "kill@7")
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 0 and "resumed after 4 of 12 batches" in outcome.err, "resumed by the same command", outcome)
    check(result_of("stopped/runs/job") == result_of("new/runs/job"), "with the same bits")
    check(len(record_of("stopped/runs/job")["resumes"]) == 1, "the record has the resume")


def contradictions():
    where = trial.fresh("contradicted")
    killed(where, "kill@7")
    outcome = trial.run(*without(JOB, "--batch-size"), "--batch-size", "8", cwd=where)
    check(outcome.status == 2 and "--batch-size: 16 then, 8 now" in outcome.err, "another option is refused", outcome)
    outcome = trial.run("train", "--name", "job", "--resume", "auto", "--print-config", cwd=where)
    check("batch-size = 16\n" in outcome.out, "options that are not given are the saved ones", outcome)
    for words, why in ((["--exist-ok"], "--resume cannot go with --exist-ok"),
                       (["--dry-run"], "--resume cannot go with --exist-ok, --dry-run"),
                       (["--extend", "2"], "--extend 2 cannot go with --resume auto"),
                       (["--pretrained", "last"], "--pretrained last cannot go with --resume auto")):
        outcome = trial.run(*JOB, *words, cwd=where)
        check(outcome.status == 2 and why in outcome.err, why, outcome)
    outcome = trial.run("train", *TINY, "--resume", "auto", "--name", "../job", cwd=where)
    check(outcome.status == 2 and "not a valid name" in outcome.err, "a name is a plain one", outcome)


def without_state():
    """A run that was killed in its first epoch, or between the steps that make its folder."""
    where = trial.fresh("begun")
    killed(where, "kill@2")
    check(not os.path.exists("begun/runs/job/weights/last.safetensors"), "killed before its first state")
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 0 and "'runs/job' has no state yet: the run starts again" in outcome.err, "starts again", outcome)
    check(result_of("begun/runs/job") == result_of("new/runs/job"), "as a new run")
    check(sorted(os.listdir("begun/runs")) == ["job", "latest"], "in the same folder")
    os.rename("begun/runs/job/weights/last.safetensors", "begun/runs/job/weights/epoch-0001.safetensors")
    os.unlink("begun/runs/job/weights/last.prev.safetensors")
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 0 and os.path.exists("begun/runs/job/former-1/weights/epoch-0001.safetensors"),
          "weights without a state are kept as --exist-ok keeps them", outcome)
    for name, parts in (("empty", []), ("halfway", ["weights"]), ("set aside", ["former-1"])):
        where = trial.fresh(name)
        os.makedirs(f"{name}/runs/job")
        for part in parts:
            os.mkdir(f"{name}/runs/job/{part}")
        outcome = trial.run(*JOB, cwd=where)
        check(outcome.status == 0 and os.path.exists(f"{name}/runs/job/run.json"), f"a folder that is {name} is taken", outcome)
    where = trial.fresh("foreign")
    os.makedirs("foreign/runs/job/photos")
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 2 and "'runs/job' exists and is not the folder of a run" in outcome.err, "not a folder of others", outcome)
    check(os.listdir("foreign/runs/job") == ["photos"], "which stays as it is")


def damaged():
    where = trial.fresh("damaged")
    killed(where, "kill@7")
    weights = "damaged/runs/job/weights"
    for name in os.listdir(weights):
        with open(f"{weights}/{name}", "r+b") as file:
            file.truncate(1000)
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 4, "a damaged state is an error, not a reason to start again", outcome)


def other_names():
    """A run that was numbered, and one whose batch was halved when memory ran out."""
    where = trial.fresh("numbered")
    os.makedirs("numbered/runs/job")
    killed_words = [*without(JOB, "--resume"), "--inject", "kill@7"]
    trial.run(*killed_words, cwd=where)
    outcome = trial.run(*[word if word != "job" else "job-2" for word in JOB], cwd=where)
    check(outcome.status == 0 and "resumed after" in outcome.err, "a run is found by the name of its folder", outcome)
    where = trial.fresh("halved")
    half = [*without(JOB, "--batch-size"), "--batch-size", "8", "--accumulate", "2"]
    trial.run(*half, "--inject", "kill@13", cwd=where)
    outcome = trial.run(*JOB, cwd=where)
    check(outcome.status == 0 and "resumed after" in outcome.err, "a batch that was halved is no contradiction", outcome)
    check(record_of("halved/runs/job")["epochs_done"] == 3, "and the run ends")
    where = trial.fresh("kept")
    trial.run(*half, "--no-shrink-batch", "--inject", "kill@13", cwd=where)
    outcome = trial.run(*JOB, "--no-shrink-batch", cwd=where)
    check(outcome.status == 2 and "--batch-size: 8 then, 16 now" in outcome.err, "except if batches are never halved", outcome)


def several_processes():
    if not MPIRUN:
        trial.skip("--resume auto with several processes", "this build has no MPI")
        return
    ranks = [MPIRUN, "-n", "2"]
    where = trial.fresh("ranks")
    outcome = trial.run(*JOB, "--inject", "kill@7", before=ranks, cwd=where)
    check(os.path.exists("ranks/runs/job/weights/last.safetensors"), "ranks begin a run", outcome)
    outcome = trial.run(*JOB, before=ranks, cwd=where)
    check(outcome.status == 0 and "resumed after 4 of 12 batches" in outcome.err, "and resume it", outcome)
    check(sorted(os.listdir("ranks/runs")) == ["job", "latest"], "in one folder")
    outcome = trial.run(*JOB, before=ranks, cwd=where)
    check(outcome.status == 0 and outcome.out.count("is finished") == 1, "and say once that it is finished", outcome)

    # Rank 1 works on another disk: first without the run of rank 0, then with one that rank 0 does not have.
    for state, expected in (("kill@7", "resumed after 4 of 12 batches"), (None, "run   runs/job")):
        here, there = trial.fresh("here"), trial.fresh("there")
        killed(here if state else there, "kill@7")
        call = [*JOB, *([] if state else ["--epochs", "2"])]
        # By a script, because Open MPI 5.0.7 crashes if it is given several programs.
        script = f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 ] || cd {shlex.quote(os.path.realpath(there))}; exec "$@"'
        words = [*ranks, "sh", "-c", script, "sh"]
        outcome = trial.run(*call, before=words, cwd=here)
        check(outcome.status == 0 and expected in outcome.err, f"rank 0's disk counts: {expected}", outcome)
        check(record_of("here/runs/job")["status"] == "finished", "its run ends")
        check(os.path.exists("there/runs") != bool(state), "the other disk stays as it is")
    outcome = trial.run(*without(JOB, "--batch-size"), "--batch-size", "8", before=ranks, cwd="ranks")
    check(outcome.status == 2 and "--batch-size: 16 then, 8 now" in outcome.err, "a contradiction ends all", outcome)


new_run()
goes_on()
contradictions()
without_state()
damaged()
other_names()
several_processes()
trial.conclude()
