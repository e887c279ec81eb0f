"""Effects of the options of `learn data`, and those of data sets known by path, for options_walk.py."""
import shutil
from pathlib import Path

from option_case import Case, SPEED, TRAIN


def prepare(folder):
    """Lists of the images in `folder`."""
    for part in ("train", "valid"):
        shutil.copytree(Path(folder, "images"), Path(folder, "parted", part))
    lists = Path(folder, "lists")
    lists.mkdir()
    files = [f"{label}/{i}.png" for i in range(10) for label in ("dark", "light")]

    def table(name, prefix, separator=",", repeated=0):
        rows = [separator.join(("file", "class", "split", "copy", "kind", "x", "part"))]
        rows += [separator.join((prefix + file, file.split("/")[0], "train" if i < 14 else "valid", prefix + files[0],
                                 "odd;even" if i % 3 == 0 else "odd", str(i), "train" if i < 10 else "valid"))
                 for i, file in enumerate(files)]
        rows += [rows[1]] * repeated
        (lists / name).write_text("\n".join(rows) + "\n")
        return str(lists / name)

    def lines(name, prefix, wanted, labelled=True):
        (lists / name).write_text("".join(f"{prefix}{file}{' ' + file.split('/')[0] if labelled else ''}\n" for file in wanted))
        return str(lists / name)

    return {"parted": str(Path(folder, "parted")), "table": table("a.csv", "../images/"), "other_table": table("b.csv", "../more images/"), "bare_table": table("c.csv", ""),
            "damaged_table": table("d.csv", "../damaged/"), "repeated_table": table("e.csv", "../images/", repeated=11),
            "list": lines("a.txt", "../images/", files), "other_list": lines("b.txt", "../more images/", files),
            "bare_list": lines("c.txt", "", files), "damaged_list": lines("d.txt", "../damaged/", files),
            "valid_list": lines("e.txt", "../images/", files[:6]),
            "unlabelled_list": lines("f.txt", "../images/", files, labelled=False)}


def given(data, option, more="", **how):
    """Data with one more option: the others are `more`."""
    before = f"{data}:{more}" if more else data
    return Case([*TRAIN, "--data", before], ["--data", f"{before}{',' if more else ':'}{option}"], **how)


def of_images(data, damaged):
    """Options of all data sets that name files."""
    return {"size": given(data, "size=16"),
            "channels": given(data, "channels=1"),
            "max_bad": given(damaged, "max_bad=0.5"),
            "skip_bad": given(damaged, "skip_bad=true"),
            # The fingerprint is one of files, not of pixels.
            "stream": given(data, "stream=true", "size=16"),
            "cache": given(data, "cache=0", "size=16,stream=true", same=SPEED)}


SETTINGS = {
    "data folder": of_images("{images}", "{damaged}") | {
        "parts": given("{parted}", "parts=false"),
        "label_regex": given("{images}", "label_regex=([0-4])[.]png$|."),
        "valid_regex": given("{images}", "valid_regex=[3-7].png$"),
    },
    "data csv": of_images("{table}", "{damaged_table}") | {
        "path": Case([*TRAIN, "--data", "csv:path={table}"], ["--data", "csv:path={other_table}"]),
        "features": Case([*TRAIN, "-m", "mlp", "--data", "{table}:label=class"], ["--data", "{table}:label=class,features=x"]),
        "root": given("{bare_table}", "root={images}"),
        "image": given("{table}", "image=copy"),
        "label": given("{table}", "label=kind"),
        "label_delim": given("{table}", "label_delim=;", "label=kind"),
        "targets": given("{table}", "targets=x"),
        "split": given("{table}", "split=part"),
        "suffix": given("{table}", "suffix=.none"),
        "separator": given("{table}", "separator=semicolon"),
    },
    "data list": of_images("{list}", "{damaged_list}") | {
        "path": Case([*TRAIN, "--data", "list:path={list}"], ["--data", "list:path={other_list}"]),
        "root": given("{bare_list}", "root={images}"),
        "valid": given("{list}", "valid={valid_list}"),
        "label_regex": given("{unlabelled_list}", "label_regex=(dark|light)"),
    },
}

INFO = ["data", "info", "{images}"]
SHOW = ["data", "show", "{images}"]

COMMAND = {
    "data-dir": Case(["data", "info", "cifar10"], ["--data-dir", "elsewhere"]),
    "classes": Case(INFO, ["--classes", "light,dark"]),
    "val-split": Case(INFO, ["--val-split", "0.5"]),
    "train-limit": Case(INFO, ["--train-limit", "5"]),
    "valid-limit": Case(INFO, ["--valid-limit", "5"]),
    "image-size": Case(INFO, ["--image-size", "16"]),
    "threads": Case(INFO, ["--threads", "2"], same=SPEED),
    "seed": Case(INFO, ["--seed", "7"]),
    "json": Case(INFO, ["--json"]),
    "all": Case(["data", "verify", "{repeated_table}"], ["--all"]),
    "normalize": Case([*SHOW, "--augment", "full"], ["--normalize", "cifar10"]),
    "augment": Case(SHOW, ["--augment", "none"]),
    "images": Case(SHOW, ["--images", "3"]),
    "versions": Case(SHOW, ["--versions", "2"]),
    "valid": Case(SHOW, ["--valid"]),
    "out": Case(SHOW, ["--out", "there.svg"]),
}
