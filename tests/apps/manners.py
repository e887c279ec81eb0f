#!/usr/bin/env python3
"""Tests `learn` at a terminal: manners.py PATH/TO/learn.

Help and the table at several widths, completion in the shells, manual pages, and their installation. Tests whose shell or
roff is not installed are skipped with a message. Prints failures; exit status 1 then.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios

from harness import TINY, Trial, shown_at

trial = Trial(__doc__)
check, run = trial.check, trial.run


def at_terminal(columns, *words, resize=None):
    """Output on a terminal of that width; `resize`: from the first row of the table on it has another."""
    master, slave = os.openpty()

    def widen(to):
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, to, 0, 0))

    def resize_later(shown):
        if resize and any(line.startswith("    1  ") for line in drawn(shown)):
            widen(resize)

    widen(columns)
    process = subprocess.Popen([trial.learn, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    shown = shown_at(master, resize_later)
    process.wait()
    return shown


def drawn(text):
    """Lines and states of the bar."""
    return [part for part in re.split(r"[\r\n]+|\x1b\[K", text) if part]


def helps():
    for columns, limit in ((30, 40), (60, 60), (200, 100)):
        lines = drawn(at_terminal(columns, "train", "--help"))
        longest = max(map(len, lines))
        check(limit - 12 < longest <= limit, f"help is made for {columns} columns, not for {longest}")
    for words in (["--help"], ["help"], ["train", "--help"], ["help", "train"], ["predict", "--help-all"], ["help", "schedules"]):
        done = run(*words)
        check(done.status == 0 and max(map(len, done.out.splitlines())) <= 80, f"{words} fits 80 columns in a pipe", done)
        check("\x1b" not in done.out and "\r" not in done.out, f"{words} steers no terminal", done)
    check(run("help", "train").out == run("train", "--help").out, "two ways to help are one")
    check(run("help", "schedules").out == run("options", "schedule").out, "what is chosen by name has help")
    done = run("help", "trian")
    check(done.status == 2 and "did you mean 'train'?" in done.err, "an unknown topic is refused", done)
    for words in ([], ["train"], ["doctor"]):
        check(run(*words, "--version").out.startswith("learn "), f"{words} has a version")


def bars():
    # Pauses after batches for which the bar is drawn again.
    training = ["train", *TINY, "--train-limit", "512", "--batch-size", "8", "--metrics", "accuracy,f1,kappa",
                "--inject", "slow@10:150ms,slow@20:150ms,slow@140:150ms"]
    for columns, wanted in ((80, ("epoch", "%", "loss", "eta", "samples/s")), (60, ("epoch", "%", "loss", "eta", "samples/s")),
                            (44, ("%", "loss", "eta"))):
        lines = drawn(at_terminal(columns, *training, "--name", f"w{columns}"))
        bar = [line for line in lines if re.match(r"epoch 1/3 +\d+%", line) and "eta" in line]
        check(bar, f"there is a bar at {columns}", lines[:20])
        check(all(part in line for line in bar for part in wanted), f"at {columns} columns the bar has {wanted}", bar[:3])
        check(all(len(line) < columns for line in bar), f"the bar fits {columns} columns", bar[:3])
        table = [line for line in lines if re.match(r" *(epoch  |\d+  +\d)", line)]
        check(len(table) >= 3 and all(len(line) <= columns for line in table), f"the table fits {columns} columns", table)
        notes = [line for line in lines if line.startswith("no room here for ")]
        check(bool(notes) == (columns < 99), f"who has {columns} columns is told what is missing", notes)
        log = open(f"runs/w{columns}/run.log", encoding="utf-8").read()
        check("kappa         lr" in log, "the log has all columns", log[-800:])
        faults = [line for line in lines if "[inject]" in line]
        check(len(faults) == 3 and not any("eta" in line for line in faults), "a message has a line of its own", faults)
    os.environ["NO_COLOR"] = "1"
    plain = at_terminal(80, *training, "--no-progress", "--name", "plain")
    check("\x1b" not in plain, "without colours and a bar nothing steers a terminal", plain)
    os.environ.pop("NO_COLOR")
    lines = drawn(at_terminal(60, *training, "--epochs", "20", "--name", "resized", resize=120))
    titles = [line for line in lines if line.startswith("epoch  ")]
    check(len(titles) == 2 and len(titles[0]) <= 60 < len(titles[1]), "the table follows the terminal's width", titles)


BASH = r"""
source completion.bash
complete_line() {
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMPREPLY=()
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _learn 2>/dev/null
  printf '%s\n' "${COMPREPLY[@]}"
}
"""


def bash_offers(line, words, wanted, what):
    """Bash's own words of the line are given: it parts them at = and : too."""
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in [line, *words])
    done = subprocess.run(["bash", "-c", f"{BASH}\ncomplete_line {quoted}"], capture_output=True, text=True, check=False)
    check(wanted in done.stdout.splitlines(), what, f"{done.stdout} {done.stderr}")


def bash_gives(*lines):
    """Types lines into a bash that completes at each tab: the last word that the command of each is given."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "HISTFILE": "", "TERM": "dumb", "PS1": "> "})
    words = []

    def send(text):
        """Waits for what `show` prints, which is not in the line that bash echoes."""
        os.write(terminal, text.encode())
        printed = ""
        while ">shown" not in printed and select.select([terminal], [], [], 20)[0]:
            printed += os.read(terminal, 1 << 16).decode(errors="replace")
        words.extend(re.findall(r"shown<(.*)>shown", printed))

    send(f"""show() {{ if [[ $1 == __complete ]]; then '{trial.learn}' "$@"; else printf '%s<%s>%s\\n' shown "${{!#}}" shown; fi; }}
source completion.bash; complete -F _learn show; show ready\n""")
    for line in lines:
        send(line + "\n")
    os.write(terminal, b"exit\n")
    os.waitpid(pid, 0)
    os.close(terminal)
    return words[1:]


def hostile_names():
    """Names of runs are completed as names, whatever bash would make of them."""
    names = ("$(touch pwned)", "a b;touch pwned", "it's", '"q`touch pwned`', "tab\tname", "line\ntouch pwned")
    for name in names:
        os.makedirs(f"hostile/{name}")
        with open(f"hostile/{name}/run.json", "w", encoding="utf-8") as file:
            file.write("{}")
    us = trial.learn
    bash_offers(f"{us} eval --out hostile hostile/$", [us, "eval", "--out", "hostile", "hostile/$"], "hostile/\\$\\(touch\\ pwned\\)",
                "a name is quoted")
    bash_offers(f"{us} eval --out hostile hostile/a\\ b", [us, "eval", "--out", "hostile", "hostile/a\\ b"], "hostile/a\\ b\\;touch\\ pwned",
                "what is quoted already is completed")
    bash_offers(f"{us} eval --out hostile 'hostile/i", [us, "eval", "--out", "hostile", "'hostile/i"], "hostile/it'\\''s",
                "a name in quotes is quoted as these want it")
    bash_offers(f'{us} eval --out hostile "hostile/', [us, "eval", "--out", "hostile", '"hostile/'], '\'hostile/\\"q\\`touch pwned\\`'[1:],
                "and in double quotes, too")
    bash_offers(f"{us} eval --out=hos", [us, "eval", "--out", "=", "hos"], "hostile", "a folder behind = is completed")
    done = run("__complete", "eval", "--out", "hostile", "")
    check("hostile/it's" in done.out and "line" not in done.out and "tab" not in done.out, "a name of two lines is none", done)
    given = bash_gives(*[f"show eval --out hostile {begin}\t" for begin in
                         ("hostile/$", "'hostile/$", '"hostile/$', "hostile/a", "'hostile/a", '"hostile/a', "hostile/a\\ ", "hostile/it")])
    check(given == ["hostile/$(touch pwned)"] * 3 + ["hostile/a b;touch pwned"] * 4 + ["hostile/it's"], "bash gives the names to the command", given)
    check(not os.path.exists("pwned") and not os.path.exists("hostile/pwned"), "and runs none of them", os.listdir())


def completions():
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        check(done.status == 0 and "__complete" in done.out, f"{shell} has a script", done)
        with open(f"completion.{shell}", "w", encoding="utf-8") as file:
            file.write(done.out)
        if shutil.which(shell) is None:
            trial.skip(f"the script of {shell}", f"{shell} is not installed")
        else:
            done = subprocess.run([shell, "-n", f"completion.{shell}"], capture_output=True, text=True, check=False)
            check(done.returncode == 0 and not done.stderr, f"the script of {shell} is one", done.stderr)
    done = run("completion", "tcsh")
    check(done.status == 2 and "known: bash, zsh, fish" in done.err, "another shell is refused", done)
    os.makedirs("with space", exist_ok=True)
    open("photo.jpg", "w", encoding="utf-8").close()
    us = trial.learn
    bash_offers(f"{us} tra", [us, "tra"], "train", "a command is completed")
    bash_offers(f"{us} train --bat", [us, "train", "--bat"], "--batch-size", "an option is completed")
    bash_offers(f"{us} train --optimizer ada", [us, "train", "--optimizer", "ada"], "adamw", "a value is completed")
    bash_offers(f"{us} train --optimizer=ada", [us, "train", "--optimizer", "=", "ada"], "adamw", "one behind = too")
    bash_offers(f"{us} train --callbacks ema:de", [us, "train", "--callbacks", "ema", ":", "de"], "decay=",
                "an option of a callback is completed")
    bash_offers(f"{us} train --callbacks 'ema;early", [us, "train", "--callbacks", "'ema;early"], "ema;early_stopping",
                "a callback in quotes is completed")
    bash_offers(f"{us} eval ", [us, "eval", ""], "runs/w80", "a run is completed")
    bash_offers(f"{us} predict last pho", [us, "predict", "last", "pho"], "photo.jpg", "a file is completed")
    bash_offers(f"{us} train --out wi", [us, "train", "--out", "wi"], "with space", "a folder is completed")
    hostile_names()
    if shutil.which("fish") is not None:
        done = subprocess.run(["fish", "-c", "source completion.fish; complete -C 'learn train --optimizer ada'"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": os.path.dirname(us) + ":" + os.environ["PATH"]})
        check("adamw" in done.stdout, "fish completes a value", f"{done.stdout} {done.stderr}")


def odd_names():
    open("-odd.jpg", "w", encoding="utf-8").close()
    done = run("predict", "last", "-odd.jpg")
    check(done.status == 2 and "put it after two dashes: -- -odd.jpg" in done.err, "who names a file like an option is told how", done)
    done = run("predict", "last", "--", "-odd.jpg")
    check(done.status == 3 and "-odd.jpg" in done.err, "behind two dashes it is a file", done)


def manuals():
    done = run("man", "--out", "share")
    check(done.status == 0, "all pages are written", done)
    commands = re.findall(r"^  ([\w-]+) ", run("--help").out.split("Options of all commands:")[0], re.M)
    for name in ["learn", *(f"learn-{command}" for command in commands)]:
        path = f"share/man/man1/{name}.1"
        check(os.path.exists(path), f"{name} has a page")
        for tool in (["mandoc", "-T", "lint", "-W", "warning", path], ["groff", "-mandoc", "-ww", "-Tutf8", path]):
            if shutil.which(tool[0]) is None:
                trial.skip(f"{tool[0]} of {name}", "not installed")
                continue
            done = subprocess.run(tool, capture_output=True, text=True, check=False)
            complaints = done.stderr if tool[0] == "groff" else done.stdout
            # A page without a date is not a fault.
            complaints = "\n".join(line for line in complaints.splitlines() if "date" not in line)
            check(done.returncode in (0, 2) and not complaints, f"{tool[0]} takes {name}", complaints)
    for shell, place in (("bash", "bash-completion/completions/learn"), ("zsh", "zsh/site-functions/_learn"),
                         ("fish", "fish/vendor_completions.d/learn.fish")):
        with open(f"share/{place}", encoding="utf-8") as file:
            check(file.read() == run("completion", shell).out, f"{shell}'s script is where it looks")
    check(run("man", "train").out == open("share/man/man1/learn-train.1", encoding="utf-8").read(), "a page is printed, too")
    for words, status in ((["man", "trian"], 2), (["man", "train", "--out", "share"], 2), (["man", "--out", "/dev/null/x"], 5)):
        done = run(*words)
        check(done.status == status, f"{words} is status {status}", done)


helps()
bars()
completions()
odd_names()
manuals()
trial.conclude()
