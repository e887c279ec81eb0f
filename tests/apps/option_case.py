"""A case that options_walk.py tries for an option."""
import re
from dataclasses import dataclass

TRAIN = ("train --data synthetic10 --train-limit 48 --valid-limit 20 --width 2 -b 16 -e 2 --threads 1 --workers 1 "
         "--name t --no-report --no-plots").split()
LABELS = [*TRAIN, "--data", "{table}:label=kind,label_delim=;"]  # several for each image
HALF = ["--precision", "fp16"]
AMP = ["--precision", "fp16-amp"]
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


def spec(flag, text, *more, **how):
    """The text in place of what it names without options."""
    name = re.match(r"[^:]*", text)[0]
    return Case([*TRAIN, *more, flag, name], [flag, *text.split(" ")], **how)
