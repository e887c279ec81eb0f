#!/usr/bin/env python3
"""Starts a program several times on this machine, as ranks that find each other by torchrun's variables: start_ranks.py N COMMAND...

A machine with GPUs may have neither MPI nor PyTorch. If a rank fails, the others have some seconds to end themselves. Exit status:
the first one of a rank that is not 0.
"""
import os
import socket
import subprocess
import sys
import time

# A launcher that started this program must not be taken for the ranks'.
LAUNCHERS = ("OMPI_", "PMI", "MPI_LOCAL", "MV2_", "SLURM_", "TORCHELASTIC_")
GRACE = 20  # seconds


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def variables(rank, ranks, port):
    """Part of a rank's environment."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def main():
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    port = free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    started = [subprocess.Popen(command, env={**inherited, **variables(rank, ranks, port)}) for rank in range(ranks)]
    failed, until, codes = 0, None, [None]
    while None in codes:
        time.sleep(0.02)
        codes = [process.poll() for process in started]
        failed = failed or next((code for code in codes if code), 0)
        until = until or (time.monotonic() + GRACE if failed else None)
        if until and time.monotonic() > until:
            for process in started:
                process.kill()
    return failed if failed >= 0 else 128 - failed


if __name__ == "__main__":
    sys.exit(main())
