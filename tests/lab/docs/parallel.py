#!/usr/bin/env python3
"""The page about several processes, followed word by word with the program LEARN, and the page's program by two ranks: parallel.py LEARN
TRAIN_PARALLEL MPIRUN"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from follow import follow

ROOT = Path(__file__).resolve().parents[3]
# Any user, and any number of ranks, which leave the cores of other tests alone; of Open MPI 4 and 5.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "PRTE_MCA_hwloc_default_binding_policy": "none"}


def train_by_two_ranks(program, mpirun, environment, fault):
    """Rank 0 alone prints."""
    done = subprocess.run([mpirun, "-n", "2", program], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
    if done.returncode != 0 or len(re.findall(r"^ +5 ", done.stdout, re.MULTILINE)) != 1 or not done.stdout.endswith("ranks: 2\n"):
        fault(f"{program.name} by two ranks: exit code {done.returncode}, prints\n{done.stdout}")


def main():
    learn, train_parallel = (Path(word).resolve() for word in sys.argv[1:3])
    mpirun = Path(sys.argv[3])  # a link names the part that it plays, so it is not followed
    faults = []
    with tempfile.TemporaryDirectory(prefix="learn parallel ") as place:
        environment = {"PATH": f"{learn.parent}:{mpirun.parent}:{os.environ['PATH']}", "LEARN_DEVICE": "cpu", **OPEN_MPI}
        follow(ROOT / "framework/docs/parallel.md", Path(place) / "page", environment, faults.append)
    train_by_two_ranks(train_parallel, mpirun, environment, faults.append)
    print("\n".join(faults) or "the page works")
    return 1 if faults else 0


sys.exit(main())
