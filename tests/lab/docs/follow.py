"""Follows a page of framework/docs word by word, as a reader would: saves the files to save, types the commands to type, and
compares the output with the page.

A block of code after a line that ends in "`NAME`:" is the file NAME. A block ```sh is typed, in the folder where the previous
one ended. A block ```text after it is the expected output: the same words on the same number of lines, whatever the numbers; a
line "..." matches any number of lines. The section "Install" is skipped, because its steps ran before.
"""
import os
import re
import subprocess
import time
from pathlib import Path

BLOCK = re.compile(r"^(?:(?P<before>[^\n]*)\n\n?)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d.,:]*(?:e[-+]?\d+)?%?")


def blocks(page):
    """(kind, text, name of the file or None) of each block, without those of the section Install."""
    text = re.sub(r"^## Install\n.*?(?=^## )", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for match in BLOCK.finditer(text):
        named = re.search(r"`([\w./-]+)`:$", match["before"] or "")
        yield match["kind"], match["text"], named[1] if named else None


def words_of(text):
    """Its lines without numbers, colours and bars; empty ones left out, and those that are printed where a machine is slow. Numbers in
    a row are one: thousands are written apart."""
    plain = NUMBER.sub("#", re.sub(r"\x1b\[[\d;]*[A-Za-z]|[\u2580-\u259f\u2501-\u257f]", "", text))
    lines = (re.sub(r"#( #)+", "#", " ".join(line.split())) for line in plain.splitlines())
    return [line for line in lines if line and not line.startswith("info [progress]")]


def first_missing(shown, printed):
    """The first line of `shown` that is not in `printed` where it should be; None: all is there."""
    text, pattern = "\n".join(words_of(printed)) + "\n", "^"
    for line in words_of(shown):
        pattern += r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n"
        if not re.search(pattern, text, re.MULTILINE):
            return line
    return None


def follow(page, folder, environment, fault, seconds=120):
    """Follows `page` in `folder`, which is new and empty; calls `fault` for each fault, and for a command that takes longer than
    `seconds`. Returns the output of the last command."""
    folder.mkdir(parents=True)
    where = folder.with_name(f"{folder.name}.pwd")  # where the last command ended
    at, printed = folder, ""
    for kind, text, name in blocks(page):
        if name:
            (at / name).write_text(text)
        elif kind == "sh":
            begun = time.monotonic()
            try:
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"{text}\npwd >'{where}'"], cwd=at, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds,
                                      env={**os.environ, **environment})
            except subprocess.TimeoutExpired:
                fault(f"{page.name}: still running after {seconds} s:\n{text}")
                return printed
            printed = done.stdout
            print(f"{time.monotonic() - begun:5.1f} s  {text.strip().splitlines()[0]}")
            if done.returncode != 0:
                fault(f"{page.name}: exit code {done.returncode} of\n{text}\n{printed[-3000:]}")
                return printed
            at = Path(where.read_text().strip())
        elif kind == "text" and (line := first_missing(text, printed)) is not None:
            fault(f"{page.name}: this line is not printed there:\n{line}\nbut\n{printed[-3000:]}")
    return printed
