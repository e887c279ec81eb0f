"""What options_walk.py tries of an option."""
from dataclasses import dataclass

TRAIN = ("train --data synthetic10 --train-limit 48 --valid-limit 20 --width 2 -b 16 -e 2 --threads 1 --workers 1 "
         "--name t --no-report --no-plots").split()
LABELS = [*TRAIN, "--data", "{table}:label=kind,label_delim=;"]  # several for each image
SPEED = "the bits are the same, it takes another time"


@dataclass
class Case:
    """`learn COMMAND... WITH` is compared with `learn COMMAND...`."""
    command: list
    with_option: list
    same: str = ""  # why nothing changes; empty: something must
    hidden: bool = False  # it changes digits that are not shown, or may not be
    before: list = None  # a command that is run first
    terminal: bool = False  # standard error is one
